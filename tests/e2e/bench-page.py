#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bench-page.py DOM JSON: does the page, as a browser has it, show the figures of the document?"""
import html.parser, json, sys


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.rates, self.bars, self.cell, self.tag, self.case, self.text, self.data = [], 0, None, None, "", [], ""

    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        self.tag = tag
        self.bars += tag == "rect"
        if tag == "td":
            self.cell = a
        self.script = tag == "script"

    def handle_data(self, data):
        if self.tag == "script":
            self.data += data
        elif self.cell and self.cell.get("class") == "case":
            self.case = data
            self.cell = None
        elif self.cell and self.cell.get("class") == "rate":
            self.rates.append((self.case, self.cell["data-test"], float(self.cell["data-kbps"]), float(data)))
            self.cell = None
        else:
            self.text.append(data)

    def handle_endtag(self, tag):
        self.tag = None


page = Page()
page.feed(open(sys.argv[1]).read())
doc = json.load(open(sys.argv[2]))
shown = {(case, test): (kbps, mb) for case, test, kbps, mb in page.rates}
count = 0
for run in doc["runs"]:
    case = " ".join(f"{k}={v}" for k, v in run["set"].items())
    for t in run["tests"]:
        rounds = sorted(t["rounds_kBps"])
        median = rounds[len(rounds) // 2] if len(rounds) % 2 else sum(rounds[len(rounds) // 2 - 1:][:2]) / 2
        kbps, mb = shown[case, t["name"]]
        assert abs(kbps - median) < 0.01 + 1e-6 * median, (case, t["name"], kbps, median)
        assert abs(mb - median * 1.024e-3) <= 0.051, (case, t["name"], mb, median)
        count += 1
assert count == len(page.rates), (count, len(page.rates))
assert page.bars == 3 * count, (page.bars, count)
assert json.loads(page.data)["runs"][0]["tests"] == doc["runs"][0]["tests"]
words = " ".join(page.text)
assert "What registering for each I/O costs" in words and "What the pool saves" in words, words[:500]
print(f"{count} figures agree")
