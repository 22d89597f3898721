#!/usr/bin/env python3
"""Writes locale_names.tsv: the names of months, days, half days and eras of the Unicode CLDR, as Babel ships them.

usage: pip install babel; locale_names.py >locale_names.tsv
"""
import sys

from babel import Locale, localedata

LANGUAGES = set(
    "af ar az be bg bn bs ca cs cy da de el en es et eu fa fi fil fr ga gl gu he hi hr hu hy id is it ja ka kk km kn ko "
    "ky lo lt lv mk ml mn mr ms my nb ne nl nn no pa pl pt ro ru sk sl sq sr sv sw ta te th tr uk ur uz vi zh zu".split()
)
# Tags whose script is understood.
SHORT_TAGS = {"zh_Hant": "zh-TW", "zh_Hant_HK": "zh-HK", "zh_Hant_MO": "zh-MO"}


def row(name):
    locale = Locale.parse(name)
    months, days = locale.months["format"], locale.days["format"]
    halves = locale.day_periods["format"]["abbreviated"]
    eras = locale.eras["abbreviated"]
    columns = [
        [months["wide"][n] for n in range(1, 13)],
        [months["abbreviated"][n] for n in range(1, 13)],
        [days["wide"][n] for n in range(7)],
        [days["abbreviated"][n] for n in range(7)],
        [halves.get("am", "AM"), halves.get("pm", "PM")],
        [eras[0], eras[1]],
    ]
    return "\t".join("|".join(column) for column in columns)


def main():
    rows = {}
    for name in sorted(localedata.locale_identifiers()):
        language, *rest = name.split("_")
        if language not in LANGUAGES or any(len(part) > 4 for part in rest):
            continue
        names = row(name)
        # What a tag does not have of its own is looked up under the tag without its last part.
        parent = "_".join([language, *rest[:-1]])
        if rest and row(parent) == names:
            continue
        tags = [name.replace("_", "-")]
        if name in SHORT_TAGS:
            tags.append(SHORT_TAGS[name])
        rows.setdefault(names, []).extend(tags)
    for names, tags in sorted(rows.items(), key=lambda item: item[1]):
        sys.stdout.write(f"{' '.join(tags)}\t{names}\n")


main()
