"""Write the pages again from their records, after a template was edited: nothing is played or drawn."""

from __future__ import annotations

import json

from cases import bikes, heaters, page, patrol, traffic

PAGES = {"traffic": traffic, "heaters": heaters, "patrol": patrol, "bikes": bikes}
for name, case in PAGES.items():
    record = json.loads((page.OUT / f"{name}.json").read_text(encoding="utf-8"))
    (page.OUT / f"{name}.md").write_text(case.text(record), encoding="utf-8")
    print(page.OUT / f"{name}.md")
