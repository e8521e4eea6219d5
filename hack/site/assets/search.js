// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Lists the pages that contain all words of the query. A word in the title counts more.
const query = document.getElementById("query");
const results = document.getElementById("results");
const root = document.querySelector(".home").href;
let pages;

query.addEventListener("input", async () => {
  pages ??= fetch(new URL("index.json", root)).then((response) => response.json());
  const index = await pages;
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length === 0 ? [] : index
    .map((page) => ({ page, rank: rank(page, words) }))
    .filter(({ rank }) => rank > 0)
    .sort((a, b) => b.rank - a.rank)
    .slice(0, 12);
  results.replaceChildren(...found.map(({ page }) => {
    const link = document.createElement("a");
    link.href = new URL(page.path, root);
    link.textContent = page.title;
    const item = document.createElement("li");
    item.append(link);
    return item;
  }));
});

function rank(page, words) {
  let sum = 0;
  for (const word of words) {
    const inText = page.text.split(word).length - 1;
    const inTitle = page.title.toLowerCase().includes(word);
    if (inText === 0 && !inTitle) return 0;
    sum += Math.min(inText, 20) + (inTitle ? 100 : 0);
  }
  return sum;
}
