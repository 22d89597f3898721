//! Offsets from UTC in a text: `Z`, `+02`, `-0330`, `+05:30`, `+01:00:30.5`.

use super::input::Input;

/// An offset in milliseconds. Hours have two digits and come first; what follows them is either all with colons or
/// all without.
pub(super) fn read(input: &mut Input<'_>) -> Option<i32> {
    let is_negative = match input.peek()? {
        b'Z' | b'z' => {
            input.skip(1);
            return Some(0);
        }
        b'-' => true,
        b'+' => false,
        _ => return None,
    };
    input.skip(1);
    let millis = magnitude(input)?;
    Some(if is_negative { -millis } else { millis })
}

fn magnitude(input: &mut Input<'_>) -> Option<i32> {
    let hours = input.two_digits().filter(|hours| *hours <= 23)?;
    let mut millis = hours * 3_600_000;
    let has_colons = match input.peek() {
        Some(b':') => true,
        Some(b'0'..=b'9') => false,
        _ => return Some(millis),
    };
    for unit in [60_000, 1000] {
        match (has_colons, input.peek()) {
            (true, Some(b':')) => input.skip(1),
            (false, Some(b'0'..=b'9')) => {}
            _ => return Some(millis),
        }
        millis += input.two_digits().filter(|number| *number <= 59)? * unit;
    }
    match (has_colons, input.peek()) {
        (true, Some(b'.' | b',')) => input.skip(1),
        (false, Some(b'0'..=b'9')) => {}
        _ => return Some(millis),
    }
    Some(millis + input.fraction(3, 1000)?)
}
