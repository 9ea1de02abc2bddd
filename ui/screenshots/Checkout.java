// SPDX-License-Identifier: Apache-2.0
//
// A checkout service for the screenshots: prices and signs an order of /order?n=ITEMS.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Checkout {
	record Item(int product, String category, BigDecimal price) {}

	static final BigDecimal TAX = new BigDecimal("1.19");

	static List<Item> parseOrder(int n) {
		List<Item> items = new ArrayList<>();
		for (int i = 0; i < n; i++)
			items.add(new Item(i, "category-" + i % 17, new BigDecimal(i * 37 % 9900).movePointLeft(2)));
		return items;
	}

	static BigDecimal applyTax(BigDecimal net) {
		return net.multiply(TAX).setScale(2, RoundingMode.HALF_EVEN);
	}

	static Map<String, BigDecimal> sumByCategory(List<Item> items) {
		return items.stream().collect(Collectors.groupingBy(Item::category,
			Collectors.reducing(BigDecimal.ZERO, i -> applyTax(i.price()), BigDecimal::add)));
	}

	static String writeInvoice(List<Item> items, Map<String, BigDecimal> sums) {
		StringBuilder out = new StringBuilder();
		for (Item i : items)
			out.append(String.format("%5d %-14s %10s%n", i.product(), i.category(), i.price()));
		sums.forEach((category, sum) -> out.append(category).append(' ').append(sum).append('\n'));
		return out.toString();
	}

	static byte[] sign(String invoice) throws GeneralSecurityException {
		Mac mac = Mac.getInstance("HmacSHA256");
		mac.init(new SecretKeySpec("secret".getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
		return mac.doFinal(invoice.getBytes(StandardCharsets.UTF_8));
	}

	static void handleOrder(HttpExchange exchange) throws IOException {
		try (exchange) {
			List<Item> items = parseOrder(Integer.parseInt(exchange.getRequestURI().getQuery().substring(2)));
			String invoice = writeInvoice(items, sumByCategory(items));
			byte[] signature = sign(invoice);
			byte[] body = (signature.length + invoice).getBytes(StandardCharsets.UTF_8);
			exchange.sendResponseHeaders(200, body.length);
			exchange.getResponseBody().write(body);
		} catch (GeneralSecurityException e) {
			throw new IOException(e);
		}
	}

	public static void main(String[] args) throws IOException {
		HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 0);
		server.createContext("/order", Checkout::handleOrder);
		server.setExecutor(Executors.newFixedThreadPool(4));
		server.start();
	}
}
