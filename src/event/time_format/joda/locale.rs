//! Names of months, days, half days and eras in the languages of the world, from the Unicode CLDR.

const ALL: &str = include_str!("locale_names.tsv");

/// The names of a language, as parts of dates.
#[derive(Clone, Copy, Debug)]
pub struct Locale {
    language: &'static str,
    /// Long and short months, long and short days from Monday on, half days, eras; a bar between the names of each.
    columns: [&'static str; 6],
}

impl Locale {
    /// English as in the United States.
    pub fn english() -> Self {
        Self::exact("en").unwrap_or(Self { language: "en", columns: [""; 6] })
    }

    /// By a tag such as `de-AT` or `pt_BR`. What is unknown is looked up without its last part, and is English at last.
    pub fn of_tag(tag: &str) -> Self {
        let tag = tag.replace('_', "-").to_ascii_lowercase();
        let mut tag = tag.as_str();
        loop {
            if let Some(locale) = Self::exact(tag) {
                return locale;
            }
            match tag.rfind(['-', '.', '@']) {
                Some(at) => tag = tag.get(..at).unwrap_or_default(),
                None => return Self::english(),
            }
        }
    }

    fn exact(tag: &str) -> Option<Self> {
        // Codes that Java still takes.
        let tag = match tag {
            "iw" => "he",
            "in" => "id",
            other => other,
        };
        let is_it = |line: &&str| {
            let tags = line.split('\t').next().unwrap_or_default();
            tags.split(' ').any(|known| known.eq_ignore_ascii_case(tag))
        };
        let line = ALL.lines().find(is_it)?;
        let mut columns = line.split('\t');
        let language = columns.next()?.split(['-', ' ']).next()?;
        let mut column = || columns.next().unwrap_or_default();
        Some(Self { language, columns: [column(), column(), column(), column(), column(), column()] })
    }

    /// The names in some columns, each with its place in its column.
    fn names(self, columns: &[usize]) -> Vec<(&'static str, usize)> {
        let columns = columns.iter().filter_map(|at| self.columns.get(*at));
        columns.flat_map(|column| column.split('|').enumerate()).map(|(at, name)| (name, at)).collect()
    }

    /// Names of months, January is 0.
    pub(super) fn months(self) -> Vec<(&'static str, usize)> {
        self.names(&[0, 1])
    }

    /// Names of days, Monday is 0.
    pub(super) fn days(self) -> Vec<(&'static str, usize)> {
        self.names(&[2, 3])
    }

    /// Morning is 0; the English names are known everywhere.
    pub(super) fn half_days(self) -> Vec<(&'static str, usize)> {
        self.names(&[4]).into_iter().chain([("AM", 0), ("PM", 1)]).collect()
    }

    /// Before Christ is 0.
    pub(super) fn eras(self) -> Vec<(&'static str, usize)> {
        let english: &[_] = if self.language == "en" { &[("BCE", 0), ("CE", 1)] } else { &[] };
        self.names(&[5]).into_iter().chain(english.iter().copied()).collect()
    }

    /// A name in capitals, by the rules of the language.
    pub(super) fn capitals(self, name: &str) -> String {
        match self.language {
            "tr" | "az" => name.replace('i', "İ").to_uppercase(),
            _ => name.to_uppercase(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_all_names() {
        for line in ALL.lines() {
            let counts: Vec<usize> = line.split('\t').skip(1).map(|column| column.split('|').count()).collect();
            assert_eq!(counts, [12, 12, 7, 7, 2, 2], "{line}");
        }
    }

    #[test]
    fn tags_fall_back_to_the_language_and_then_to_english() {
        let march = |tag: &str| Locale::of_tag(tag).months()[2].0;
        assert_eq!(march("de-DE"), "März");
        assert_eq!(march("DE_ch.UTF-8"), "März");
        assert_eq!(Locale::of_tag("de-AT").months()[0].0, "Jänner");
        assert_eq!(Locale::of_tag("en-GB").months()[12 + 8].0, "Sept");
        assert_eq!(Locale::of_tag("en-US").months()[12 + 8].0, "Sep");
        assert_eq!(march("xx"), "March");
        assert_eq!(march(""), "March");
    }
}
