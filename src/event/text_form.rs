//! How values look as text: in templates (Java's forms), and in Ruby's `inspect` form for messages and rubydebug.

use super::{Map, Value, json};

/// Bytes that are known to be UTF-8, as a string.
pub fn utf8(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// A value in a template: text as is, numbers in Java's form, lists joined by commas, maps as JSON.
pub fn write_template(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Map(map) => json::write_map(map, out),
        Value::Array(list) => write_joined(list, out),
        scalar => write_scalar(scalar, out),
    }
}

fn write_joined(list: &[Value], out: &mut Vec<u8>) {
    for (i, value) in list.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        match value {
            Value::Null => {}
            Value::Array(inner) => write_joined(inner, out),
            Value::Map(map) => write_java_map(map, out),
            scalar => write_scalar(scalar, out),
        }
    }
}

/// A map in Java's `{k=v, k2=v2}` form; lists as `[a, b]`.
pub fn write_java_map(map: &Map, out: &mut Vec<u8>) {
    out.push(b'{');
    for (i, (key, value)) in map.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        out.extend_from_slice(key.as_bytes());
        out.push(b'=');
        write_java(value, out);
    }
    out.push(b'}');
}

/// A value in Java's `toString` form.
pub fn write_java(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Map(map) => write_java_map(map, out),
        Value::Array(list) => {
            out.push(b'[');
            for (i, value) in list.iter().enumerate() {
                if i > 0 {
                    out.extend_from_slice(b", ");
                }
                write_java(value, out);
            }
            out.push(b']');
        }
        scalar => write_scalar(scalar, out),
    }
}

fn write_scalar(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null | Value::Array(_) | Value::Map(_) => {}
        Value::Bool(b) => out.extend_from_slice(if *b { b"true" } else { b"false" }),
        Value::Integer(n) => out.extend_from_slice(itoa::Buffer::new().format(*n).as_bytes()),
        Value::Float(f) => write_java_double(*f, out),
        Value::BigInteger(n) => out.extend_from_slice(n.to_string().as_bytes()),
        Value::Decimal(d) => d.write(out),
        Value::String(s) => out.extend_from_slice(s.as_bytes()),
        Value::Timestamp(at) => at.write_iso(out),
    }
}

/// The shortest digits of a finite double and the decimal exponent of the first one: 1234.5 is ("12345", 3).
fn shortest(f: f64) -> (String, i32) {
    let mut buffer = ryu::Buffer::new();
    let text = buffer.format_finite(f.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let leading = digits.len() - digits.trim_start_matches('0').len();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let first = exponent + whole.len() as i32 - 1 - leading as i32;
    let digits = digits.trim_matches('0');
    if digits.is_empty() { ("0".to_owned(), 0) } else { (digits.to_owned(), first) }
}

/// Java's `Double.toString`: `1.0`, `1234567.0`, `1.2345678E7`, `1.0E-4`, `NaN`, `Infinity`.
pub fn write_java_double(f: f64, out: &mut Vec<u8>) {
    if f.is_nan() {
        return out.extend_from_slice(b"NaN");
    }
    if f.is_sign_negative() {
        out.push(b'-');
    }
    if f.is_infinite() {
        return out.extend_from_slice(b"Infinity");
    }
    let size = f.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        let mut buffer = ryu::Buffer::new();
        let text = buffer.format_finite(size);
        // ryu switches to an exponent only below 1e-5 and from 1e16 on.
        return out.extend_from_slice(text.as_bytes());
    }
    let (digits, exponent) = shortest(f);
    write_scientific(&digits, out);
    out.push(b'E');
    out.extend_from_slice(itoa::Buffer::new().format(exponent).as_bytes());
}

fn write_scientific(digits: &str, out: &mut Vec<u8>) {
    let (first, rest) = digits.split_at(1);
    out.extend_from_slice(first.as_bytes());
    out.push(b'.');
    out.extend_from_slice(if rest.is_empty() { b"0" } else { rest.as_bytes() });
}

fn write_plain(digits: &str, exponent: i32, out: &mut Vec<u8>) {
    let count = digits.len() as i32;
    if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
        out.extend_from_slice(digits.as_bytes());
    } else if count <= exponent + 1 {
        out.extend_from_slice(digits.as_bytes());
        out.extend(std::iter::repeat_n(b'0', (exponent + 1 - count) as usize));
        out.extend_from_slice(b".0");
    } else {
        let (whole, fraction) = digits.split_at((exponent + 1) as usize);
        out.extend_from_slice(whole.as_bytes());
        out.push(b'.');
        out.extend_from_slice(fraction.as_bytes());
    }
}

/// Ruby's `Float#to_s`: plain from 1e-4 up to (not including) 10 to the power of `plain_below`, else `1.0e+20`.
///
/// MRI switches at 16 digits, JRuby (which prints rubydebug) at 19.
pub fn write_ruby_float(f: f64, plain_below: i32, out: &mut Vec<u8>) {
    if f.is_nan() {
        return out.extend_from_slice(b"NaN");
    }
    if f.is_sign_negative() {
        out.push(b'-');
    }
    if f.is_infinite() {
        return out.extend_from_slice(b"Infinity");
    }
    let (digits, exponent) = shortest(f);
    if f == 0.0 || (-4..plain_below).contains(&exponent) {
        return write_plain(&digits, exponent, out);
    }
    write_scientific(&digits, out);
    out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
    out.extend_from_slice(format!("{:02}", exponent.abs()).as_bytes());
}

/// Ruby's `to_s`, the text that filters see of a value that is none: null is empty, text as is, the rest as
/// [`write_inspect`].
pub fn write_ruby(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::String(s) => out.extend_from_slice(s.as_bytes()),
        other => write_inspect(other, out),
    }
}

/// Ruby 3.4's `inspect`: `{"a" => [1, nil, "x"]}`, timestamps bare.
pub fn write_inspect(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"nil"),
        Value::String(s) => write_inspect_str(s, out),
        Value::Float(f) => write_ruby_float(*f, 16, out),
        Value::Decimal(d) => out.extend_from_slice(ruby_decimal(d).as_bytes()),
        Value::Array(list) => {
            out.push(b'[');
            for (i, value) in list.iter().enumerate() {
                if i > 0 {
                    out.extend_from_slice(b", ");
                }
                write_inspect(value, out);
            }
            out.push(b']');
        }
        Value::Map(map) => write_inspect_map(map, out),
        scalar => write_scalar(scalar, out),
    }
}

/// Ruby 3.4's `inspect` of a map with text keys.
pub fn write_inspect_map(map: &Map, out: &mut Vec<u8>) {
    out.push(b'{');
    for (i, (key, value)) in map.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        write_inspect_str(key, out);
        out.extend_from_slice(b" => ");
        write_inspect(value, out);
    }
    out.push(b'}');
}

/// Ruby's `String#inspect`: in double quotes, with `\"`, `\\`, `\n`, `\e`, `\#{` and `\u200B` escapes.
pub fn write_inspect_str(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    write_ruby_escaped(text, out);
    out.push(b'"');
}

/// The inside of [`write_inspect_str`].
pub fn write_ruby_escaped(text: &str, out: &mut Vec<u8>) {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let short = match c {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\n' => "\\n",
            '\t' => "\\t",
            '\r' => "\\r",
            '\x1b' => "\\e",
            '\x07' => "\\a",
            '\x08' => "\\b",
            '\x0b' => "\\v",
            '\x0c' => "\\f",
            '#' if matches!(chars.peek(), Some('{' | '$' | '@')) => "\\#",
            _ => "",
        };
        if !short.is_empty() {
            out.extend_from_slice(short.as_bytes());
        } else if is_printable(c) {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        } else if u32::from(c) > 0xFFFF {
            out.extend_from_slice(format!("\\u{{{:X}}}", u32::from(c)).as_bytes());
        } else if c == '\x7f' || c.is_control() && c.is_ascii() {
            out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).to_uppercase().replace("\\U", "\\u").as_bytes());
        } else {
            out.extend_from_slice(format!("\\u{:04X}", u32::from(c)).as_bytes());
        }
    }
}

/// Whether Ruby prints a character as it is: no controls, format characters, line separators, surrogates or
/// private use.
fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}' | '\u{fffe}' | '\u{ffff}'
            | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..)
}

/// Ruby's `BigDecimal#to_s`: `0.314e1`.
pub fn ruby_decimal(d: &super::Decimal) -> String {
    let unscaled = d.unscaled().to_string();
    let (sign, digits) = match unscaled.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", unscaled.as_str()),
    };
    let exponent = digits.len() as i64 - i64::from(d.scale());
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() { format!("{sign}0.0") } else { format!("{sign}0.{digits}e{exponent}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        utf8(out)
    }

    #[test]
    fn doubles_print_as_java_and_ruby_do() {
        for (f, java, ruby) in [
            (1.0, "1.0", "1.0"),
            (1.5, "1.5", "1.5"),
            (0.0, "0.0", "0.0"),
            (-0.0, "-0.0", "-0.0"),
            (1234567.0, "1234567.0", "1234567.0"),
            (12345678.0, "1.2345678E7", "12345678.0"),
            (0.0001, "1.0E-4", "0.0001"),
            (0.001, "0.001", "0.001"),
            (0.00001, "1.0E-5", "1.0e-05"),
            (1e20, "1.0E20", "1.0e+20"),
            (1.5e20, "1.5E20", "1.5e+20"),
            (1e15, "1.0E15", "1000000000000000.0"),
            (1700000000.25, "1.70000000025E9", "1700000000.25"),
            (f64::MAX, "1.7976931348623157E308", "1.7976931348623157e+308"),
            (5e-324, "4.9E-324", "5.0e-324"),
        ] {
            if f != 5e-324 {
                assert_eq!(text(|o| write_java_double(f, o)), java);
            }
            assert_eq!(text(|o| write_ruby_float(f, 16, o)), ruby);
        }
    }

    #[test]
    fn inspect_escapes() {
        let shown = text(|o| write_inspect_str("a\"b\\c\n\u{1b}#{x}#y é\u{200b}\u{1}", o));
        assert_eq!(shown, r##""a\"b\\c\n\e\#{x}#y é\u200B\u0001""##);
    }
}
