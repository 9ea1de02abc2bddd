// SPDX-License-Identifier: Apache-2.0
//
// A gateway for the screenshots: combines the responses of the other services.
package main

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"strconv"
	"sync"
)

type page struct {
	Products []map[string]any `json:"products"`
	Hits     []map[string]any `json:"hits"`
	Invoice  string           `json:"invoice"`
	ETag     string           `json:"etag"`
}

func fetch(url string) ([]byte, error) {
	response, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

func fetchJSON(url string, out any) error {
	body, err := fetch(url)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, out)
}

func sortProducts(products []map[string]any) {
	sort.Slice(products, func(i, j int) bool {
		return fmt.Sprint(products[i]["name"]) < fmt.Sprint(products[j]["name"])
	})
}

func computeETag(p *page) string {
	sum := sha256.New()
	for _, product := range p.Products {
		fmt.Fprint(sum, product["id"], product["price"], product["text"])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func handlePage(w http.ResponseWriter, r *http.Request) {
	number, _ := strconv.Atoi(r.URL.Query().Get("page"))
	var p page
	var wait sync.WaitGroup
	for _, task := range []func(){
		func() { fetchJSON(fmt.Sprintf("http://127.0.0.1:%s/products?page=%d", os.Args[2], number), &p.Products) },
		func() { fetchJSON("http://127.0.0.1:"+os.Args[3]+"/search?q=garden+oak+steel", &p.Hits) },
		func() {
			body, _ := fetch(fmt.Sprintf("http://127.0.0.1:%s/order?n=%d", os.Args[4], 2000+number%7*300))
			p.Invoice = string(body)
		},
	} {
		wait.Add(1)
		go func() { defer wait.Done(); task() }()
	}
	wait.Wait()
	sortProducts(p.Products)
	p.ETag = computeETag(&p)
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	json.NewEncoder(z).Encode(p)
	z.Close()
}

func main() {
	http.HandleFunc("/page", handlePage)
	fmt.Println(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
