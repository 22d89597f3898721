//! The formats that `match` takes.

use super::epoch;
use super::year::{Today, YearMonth};
use super::zone::{self, Zone};
use crate::event::time_format::{JodaParser, Locale, Reading, TextZone, read_iso8601};
use crate::event::{Timestamp, Value};

/// Year of dates that have none although their pattern has the letter in quotes: Joda-Time's.
const YEAR_OF_NO_YEAR: i32 = 2000;

/// A format that `match` takes.
pub(super) enum Format {
    /// ISO 8601, then the forms with a blank and milliseconds.
    Iso8601(Vec<Pattern>),
    Unix,
    UnixMs,
    Tai64n,
    Pattern(Pattern),
}

/// A Joda-Time pattern.
pub(super) struct Pattern {
    parser: JodaParser,
    /// Of dates without a year, before one is guessed.
    year: i32,
}

/// What a reading depends on besides the text.
pub(super) struct Moment<'m> {
    /// None when the event names no zone that exists.
    pub zone: Option<&'m Zone>,
    pub today: &'m mut Today,
}

/// The instant that the first fitting format gives.
#[inline]
pub(super) fn first(formats: &[Format], value: &Value, mut moment: Moment<'_>) -> Option<Timestamp> {
    let millis = formats.iter().find_map(|format| format.read(value, &mut moment))?;
    Timestamp::from_millis(millis)
}

impl Format {
    /// By its name, or a pattern.
    pub fn compile(text: &str, locale: Locale) -> Result<Self, String> {
        Ok(match text {
            "ISO8601" => {
                let forms = ["yyyy-MM-dd HH:mm:ss.SSSZ", "yyyy-MM-dd HH:mm:ss.SSS"];
                let forms = forms.into_iter().chain(["yyyy-MM-dd HH:mm:ss,SSSZ", "yyyy-MM-dd HH:mm:ss,SSS"]);
                Self::Iso8601(forms.map(|form| Pattern::compile(form, locale)).collect::<Result<_, _>>()?)
            }
            "UNIX" => Self::Unix,
            "UNIX_MS" => Self::UnixMs,
            "TAI64N" => Self::Tai64n,
            pattern => Self::Pattern(Pattern::compile(pattern, locale)?),
        })
    }

    #[inline]
    fn read(&self, value: &Value, moment: &mut Moment<'_>) -> Option<i64> {
        match self {
            Self::Pattern(pattern) => pattern.read(value.as_str()?, moment),
            Self::Iso8601(forms) => {
                let text = value.as_str()?;
                let by_form = |moment: &mut Moment<'_>| forms.iter().find_map(|form| form.read(text, moment));
                match read_iso8601(text) {
                    Some(reading) => to_utc(reading, moment.zone?),
                    None => by_form(moment),
                }
            }
            Self::Unix => epoch::unix(value),
            Self::UnixMs => epoch::unix_ms(value),
            Self::Tai64n => epoch::tai64n(value),
        }
    }
}

impl Pattern {
    fn compile(pattern: &str, locale: Locale) -> Result<Self, String> {
        let this_year = i32::try_from(YearMonth::now().year).unwrap_or(YEAR_OF_NO_YEAR);
        let parser = JodaParser::compile(pattern, locale, this_year)?;
        let year = if parser.has_year() { YEAR_OF_NO_YEAR } else { this_year };
        Ok(Self { parser, year })
    }

    #[inline]
    fn read(&self, text: &str, moment: &mut Moment<'_>) -> Option<i64> {
        let zone = moment.zone?;
        let mut reading = self.parser.read(text, self.year)?;
        if !self.parser.has_year() {
            reading.local_millis = moment.today.guess_year(reading.local_millis);
        }
        to_utc(reading, zone)
    }
}

/// A zone in the text wins.
#[inline]
fn to_utc(reading: Reading, zone: &Zone) -> Option<i64> {
    match reading.zone {
        TextZone::Missing => zone.to_utc(reading.local_millis),
        TextZone::Offset(offset) => Some(reading.local_millis - i64::from(offset)),
        TextZone::Named(named) => zone::resolve(&named, reading.local_millis),
    }
}
