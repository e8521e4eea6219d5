// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// The search of the site. find ranks the pages for a query by the words that they share (BM25): a word counts more if few pages have
// it, and again in a title or a heading. A page need not have all words of the query, and is the better the more it has. Pages on
// tasks come before those with facts, and decisions come last.

const sections = {troubleshooting: 1.5, "how-to": 1.3, tutorials: 1.2, reference: 1, explanation: 0.8, runbooks: 0.8, adr: 0.4};
const ignored = new Set(("a an and any are as at be by can do does doing for from has have how i if in into is it its me my not of on or our per so that the "
  + "their then there this to use using want was what when where which who why will with you your").split(" "));

// words returns the words of a text, without their endings, and terms those that a query looks for.
function words(text) {
  return (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).map(stem);
}

function terms(query) {
  return [...new Set(words(query.toLowerCase().replace(/[a-z]+/g, (word) => ignored.has(word) ? "" : word)))];
}

function stem(word) {
  if (word.length < 5) return word.length === 4 && /[^s]s$/.test(word) ? word.slice(0, -1) : word;
  return word.replace(/(ings?|ed|ers?|es|s|ions?)$/, "").replace(/([^aeiou])\1$/, "$1").replace(/e$/, "");
}

// prepare counts the words of the pages, once.
function prepare(pages) {
  const index = {pages: [], frequency: new Map(), length: 0};
  for (const page of pages) {
    const counts = new Map();
    const text = words(page.text);
    const title = new Set(words(page.title));
    const headings = new Set(words(page.headings));
    for (const word of [...text, ...title, ...headings]) counts.set(word, (counts.get(word) ?? 0) + 1);
    for (const word of counts.keys()) index.frequency.set(word, (index.frequency.get(word) ?? 0) + 1);
    index.pages.push({page, counts, title, headings, length: text.length});
    index.length += text.length / pages.length;
  }
  return index;
}

// find returns at most twelve pages for a query, the best first. The last word of the query may be a beginning.
function find(index, query) {
  const wanted = terms(query);
  if (wanted.length === 0) return [];
  const last = wanted.at(-1);
  const variants = wanted.map((word) => word !== last || word.length < 3 ? [word]
    : [...index.frequency.keys()].filter((known) => known.startsWith(word)).sort((a, b) => a.length - b.length).slice(0, 8));
  return index.pages
    .map((entry) => ({page: entry.page, rank: rank(index, entry, variants)}))
    .filter(({rank}) => rank > 0)
    .sort((a, b) => b.rank - a.rank)
    .slice(0, 12)
    .map(({page}) => page);
}

function rank(index, {page, counts, title, headings, length}, variants) {
  let sum = 0;
  let found = 0;
  for (const words of variants) {
    const best = Math.max(0, ...words.map((word) => {
      const count = counts.get(word) ?? 0;
      const rarity = Math.log(1 + index.pages.length / (index.frequency.get(word) ?? 1));
      return rarity * (count / (count + 0.6 + 0.9 * length / index.length) + (title.has(word) ? 1 : 0) + (headings.has(word) ? 0.4 : 0));
    }));
    if (best > 0) found++;
    sum += best;
  }
  return sum * found / variants.length * (sections[page.path.split("/")[0]] ?? 1);
}

// excerpt returns the part of a text that has the most words of a query, as pairs of text and whether it is such a word.
function excerpt(text, query) {
  const wanted = new Set(terms(query));
  const parts = text.replace(/\s+/g, " ").split(/\b/);
  const hit = parts.map((part) => wanted.has(stem(part.toLowerCase())));
  const size = 48;
  let start = 0;
  let most = -1;
  for (let i = 0; i === 0 || i < parts.length - size / 2; i += 6) {
    const number = new Set(parts.slice(i, i + size).filter((_, j) => hit[i + j]).map((part) => stem(part.toLowerCase()))).size;
    if (number > most) {
      most = number;
      start = i;
    }
  }
  return parts.slice(start, start + size).map((part, j) => [part, hit[start + j]]);
}

// attach connects a search field of the theme to the index.
function attach(wrapper, load) {
  const input = wrapper.querySelector(".search-input");
  const list = wrapper.querySelector(".search-results");
  input.setAttribute("aria-label", "Search");
  list.setAttribute("aria-live", "polite");
  input.addEventListener("focus", load);
  input.addEventListener("input", async () => {
    const {index, root} = await load();
    const found = find(index, input.value);
    list.classList.toggle("hx-hidden", input.value.trim() === "");
    list.replaceChildren(...found.map((page) => result(page, input.value, root)));
    if (found.length === 0) list.textContent = "No page has these words.";
  });
  wrapper.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (event.key === "Escape") {
      list.classList.add("hx-hidden");
      input.focus();
    } else if (event.key === "Enter" && document.activeElement === input) {
      links[0]?.click();
    } else if (step) {
      event.preventDefault();
      (links[at + step] ?? input).focus();
    }
  });
}

function result(page, query, root) {
  const link = document.createElement("a");
  link.href = new URL(page.path, root);
  const title = document.createElement("b");
  title.textContent = page.title;
  const text = document.createElement("span");
  for (const [part, hit] of excerpt(page.text, query)) {
    if (hit) {
      const mark = document.createElement("mark");
      mark.textContent = part;
      text.append(mark);
    } else {
      text.append(part);
    }
  }
  link.append(title, text);
  const item = document.createElement("li");
  item.append(link);
  return item;
}

if (typeof document !== "undefined") {
  const address = new URL(document.getElementById("search-script").dataset.index, document.baseURI);
  let loaded;
  const load = () => loaded ??= fetch(address).then((response) => response.json()).then((pages) => ({index: prepare(pages), root: new URL(".", address)}));
  const wrappers = [...document.querySelectorAll(".search-wrapper")];
  for (const wrapper of wrappers) attach(wrapper, load);
  document.addEventListener("keydown", (event) => {
    const typing = /^(input|textarea|select)$/i.test(document.activeElement?.tagName ?? "");
    if (!typing && (event.key === "/" || event.key === "k" && (event.ctrlKey || event.metaKey))) {
      event.preventDefault();
      wrappers.find((wrapper) => wrapper.clientHeight > 0)?.querySelector(".search-input").focus();
    }
  });
  document.addEventListener("click", (event) => {
    for (const wrapper of wrappers) {
      if (!wrapper.contains(event.target)) wrapper.querySelector(".search-results").classList.add("hx-hidden");
    }
  });
  // What the theme lacks for assistive technology: the name of a button has its text, and tables that are wider than the screen scroll by keyboard.
  for (const button of document.querySelectorAll(".theme-toggle")) button.removeAttribute("aria-label");
  document.getElementById("backToTop")?.removeAttribute("aria-hidden");
  const reach = () => {
    for (const table of document.querySelectorAll(".content table")) {
      if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
    }
  };
  reach();
  addEventListener("resize", reach);
}
