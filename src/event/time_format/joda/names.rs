//! Finding the longest of some names at a place of a text.

use super::locale::Locale;

/// Names with a number each, grouped by their first byte, the longest of a group first.
#[derive(Clone, Debug)]
pub(super) struct Names {
    entries: Vec<Entry>,
    /// Where the group of each first byte starts; one more for the end of the last.
    groups: Box<[u16; 257]>,
}

#[derive(Clone, Debug)]
struct Entry {
    name: Box<[u8]>,
    value: i32,
}

impl Names {
    /// Takes the names as they are, in lower case and in capitals. `first` is the number of the first one.
    pub fn new(names: &[(&str, usize)], first: i32, locale: Locale) -> Self {
        let mut entries = Vec::new();
        for (name, at) in names {
            for form in [(*name).to_owned(), name.to_lowercase(), locale.capitals(name)] {
                let value = first + i32::try_from(*at).unwrap_or_default();
                let name = form.into_bytes().into_boxed_slice();
                if !name.is_empty() && !entries.iter().any(|entry: &Entry| entry.name == name) {
                    entries.push(Entry { name, value });
                }
            }
        }
        let order = |entry: &Entry| (entry.name.first().copied(), std::cmp::Reverse(entry.name.len()));
        entries.sort_by_key(order);
        let mut groups = Box::new([0; 257]);
        for (byte, start) in groups.iter_mut().enumerate() {
            let is_before = |entry: &Entry| entry.name.first().is_some_and(|first| usize::from(*first) < byte);
            *start = u16::try_from(entries.partition_point(is_before)).unwrap_or(u16::MAX);
        }
        Self { entries, groups }
    }

    /// The longest name at the beginning of `text`: its length and its number.
    #[inline]
    pub fn find(&self, text: &[u8]) -> Option<(usize, i32)> {
        let first = usize::from(*text.first()?);
        let (start, end) = (usize::from(*self.groups.get(first)?), usize::from(*self.groups.get(first + 1)?));
        let entry = self.entries.get(start..end)?.iter().find(|entry| text.starts_with(&entry.name))?;
        Some((entry.name.len(), entry.value))
    }
}
