<?php
// SPDX-License-Identifier: Apache-2.0
// A page: a generator, sorting with a callback, a template of strings, and JSON.
function items(int $n) {
    for ($i = 0; $i < $n; $i++)
        yield ['name' => "item $i", 'price' => $i * 37 % 101];
}

class Page {
    public function row(array $item): string {
        return '<tr><td>' . htmlspecialchars($item['name']) . '</td><td>' . number_format($item['price'], 2) . '</td></tr>';
    }

    public function render(): string {
        $rows = iterator_to_array(items(200));
        usort($rows, fn($a, $b) => $a['price'] <=> $b['price']);
        return implode("\n", array_map([$this, 'row'], $rows)) . json_encode($rows);
    }
}

echo (new Page())->render();
