//! Reading dates as the filter does, for inputs whose texts hold some.

use super::format::{self, Format, Moment};
use super::options;
use super::year::Today;
use super::zone::ZoneChoice;
use crate::event::{Event, Timestamp, Value};
use crate::plugins::Options;

/// Formats to try in order, in a zone and a language.
pub(crate) struct DateReader {
    formats: Vec<Format>,
    zone: ZoneChoice,
}

impl DateReader {
    /// Declares and reads `timezone` and `locale`.
    pub fn read(options: &mut Options<'_>, formats: &[&str]) -> Self {
        let zone = options::zone(options);
        let locale = options::locale(options);
        // These are the program's own, so they compile.
        let formats = formats.iter().filter_map(|format| Format::compile(format, locale).ok()).collect();
        Self { formats, zone }
    }

    /// The instant that a text names. The zone may hang on the event.
    pub fn instant(&self, event: &Event, text: &Value) -> Option<Timestamp> {
        let zone = self.zone.of(event);
        format::first(&self.formats, text, Moment { zone: zone.as_deref(), today: &mut Today::default() })
    }

    /// Whether a text names the same instant for every event.
    pub fn is_fixed(&self) -> bool {
        self.zone.is_fixed()
    }
}
