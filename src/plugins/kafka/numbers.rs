//! Options that are one number and one property of librdkafka.

use std::ops::RangeInclusive;

use rdkafka::ClientConfig;

use crate::plugins::Options;

/// An option and the property that it sets.
pub struct Number {
    /// As in a `.conf`.
    pub option: &'static str,
    /// As librdkafka calls it.
    pub property: &'static str,
    /// Logstash's.
    pub default: i64,
    /// What librdkafka takes.
    pub range: RangeInclusive<i64>,
    /// One line on what it does.
    pub doc: &'static str,
}

/// Declares and reads options, and sets their properties.
pub fn read(numbers: &[Number], options: &mut Options<'_>, client: &mut ClientConfig) {
    for number in numbers {
        let value = options.integer(number.option).doc(number.doc).default(number.default);
        if number.range.contains(&value) {
            client.set(number.property, value.to_string());
        } else {
            let (least, most) = (number.range.start(), number.range.end());
            options.invalid(number.option, format!("`{}` is from {least} to {most}, and not {value}", number.option));
        }
    }
}

/// The value that [`read`] gave a property.
pub fn value(client: &ClientConfig, property: &str) -> i64 {
    client.get(property).and_then(|text| text.parse().ok()).unwrap_or(0)
}
