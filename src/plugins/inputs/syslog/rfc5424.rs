//! A line of RFC 5424 taken apart: `<34>1 2020-01-02T03:04:05Z web1 app 42 ID47 [a b="c"] text`.

use super::line::Parts;

/// The parts of a line, and those that only this form has.
pub(super) struct Modern<'t> {
    pub parts: Parts<'t>,
    pub message_id: Option<&'t str>,
    pub structured_data: Option<&'t str>,
}

/// A line, if the text is one of this form.
pub(super) fn parse(text: &str) -> Option<Modern<'_>> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let (priority, rest) = text.strip_prefix('<')?.split_once('>')?;
    if priority.is_empty() || priority.len() > 3 || !priority.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let rest = rest.strip_prefix("1 ")?;
    let mut words = rest.splitn(6, ' ');
    let mut word = || words.next().filter(|word| !word.is_empty());
    let (time, host, program, pid, message_id) = (word()?, word()?, word()?, word()?, word()?);
    let rest = words.next()?;
    let end = structured_data(rest)?;
    let (data, rest) = rest.split_at_checked(end)?;
    let message = match rest.strip_prefix(' ') {
        Some(message) => message.strip_prefix('\u{feff}').unwrap_or(message),
        None if rest.is_empty() => "",
        None => return None,
    };
    let given = |text: &'_ str| (text != "-").then_some(());
    let present = |text| given(text).map(|()| text);
    let parts = Parts {
        priority: priority.parse().ok()?,
        time: present(time).unwrap_or_default(),
        iso: true,
        host: present(host),
        program: present(program),
        pid: present(pid),
        message,
    };
    Some(Modern { parts, message_id: present(message_id), structured_data: present(data) })
}

/// The length of `-` or of elements in brackets, in which a bracket within quotes is escaped.
fn structured_data(text: &str) -> Option<usize> {
    if text.starts_with('-') {
        return Some(1);
    }
    let (mut inside, mut quoted, mut escaped) = (false, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' if inside => quoted = !quoted,
            _ if quoted => {}
            b'[' if !inside => inside = true,
            b']' if inside => inside = false,
            b' ' if !inside => return (at > 0).then_some(at),
            _ if inside => {}
            _ => return None,
        }
    }
    (!inside && !text.is_empty()).then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_and_none() {
        let line = r#"<165>1 2003-10-11T22:14:15.003Z web1 app 42 ID47 [a@1 b="x\"]y"][c] text here"#;
        let Modern { parts, message_id, structured_data } = parse(line).unwrap();
        assert_eq!((parts.priority, parts.time, parts.message), (165, "2003-10-11T22:14:15.003Z", "text here"));
        assert_eq!((parts.host, parts.program, parts.pid), (Some("web1"), Some("app"), Some("42")));
        assert_eq!((message_id, structured_data), (Some("ID47"), Some(r#"[a@1 b="x\"]y"][c]"#)));
        let Modern { parts, message_id, structured_data } = parse("<0>1 - - - - - -").unwrap();
        assert_eq!((parts.host, parts.time, parts.message), (None, "", ""));
        assert_eq!((message_id, structured_data), (None, None));
    }

    #[test]
    fn what_is_none() {
        for text in
            ["<34>Oct 11 22:14:15 h a: t", "<34>1 x", "<34>1 - - - - - [a", "<1234>1 - - - - - -", "<34>1  - - - - - -"]
        {
            assert!(parse(text).is_none(), "{text}");
        }
    }
}
