"""Identities under load: a sound fleet with requests open at every edge is never accused."""

import pytest

from lab.sim.spec import Form
from tests.unit.lab_sim.scraping import EMBEDDED, MP, Scraper, fleet


@pytest.mark.parametrize("form", [MP, EMBEDDED])
def test_a_sound_fleet_under_load_brings_no_counters_that_disagree(form: Form) -> None:
    scraper = Scraper(fleet(forms=(form, form), requests_per_second=2.0))
    for _ in range(3):
        scraper.run(600)
        for name in ("chat-0", "chat-1"):
            assert scraper.account(name).ledger.open_at_end
            assert not scraper.codes(name) & {"counters_disagree", "external_mismatch", "same_process"}
        scraper.forget()
