"""Write the pages again from their records, after a template was edited: nothing is played or drawn."""

from __future__ import annotations

import json

from cases import heaters, page, patrol, traffic

for name, text in (("traffic", traffic.text), ("heaters", heaters.text), ("patrol", patrol.text)):
    record = json.loads((page.OUT / f"{name}.json").read_text(encoding="utf-8"))
    (page.OUT / f"{name}.md").write_text(text(record), encoding="utf-8")
    print(page.OUT / f"{name}.md")
