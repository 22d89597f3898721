//! The options `file_mode` and `dir_mode`.

use crate::plugins::Options;

/// Declares and reads such an option; `None` leaves the rights to the process's umask.
///
/// A number in a `.conf` is decimal, whatever its zeros, which nobody expects of a file mode: a quoted text with a
/// leading zero is octal, and a number that cannot have been meant is pointed out.
pub(super) fn read(options: &mut Options<'_>, name: &'static str) -> Option<u32> {
    let text = options
        .string(name)
        .doc("Rights of what is created, as \"0750\" (octal) or a decimal number; -1 for those of the umask.")
        .default("-1".to_owned());
    if text == "-1" {
        return None;
    }
    let mode = if text.len() > 1 && text.starts_with('0') { u32::from_str_radix(&text, 8) } else { text.parse() };
    match mode {
        Ok(mode) if mode <= 0o7777 => {
            if mode > 0o777 && !text.starts_with('0') {
                let message = format!("{text} is read as a decimal number; write \"0{text}\" for the octal mode");
                options.warn(name, "decimal-mode", message);
            }
            Some(mode)
        }
        _ => {
            options.invalid(name, format!("`{text}` is no file mode; write it like \"0750\""));
            None
        }
    }
}
