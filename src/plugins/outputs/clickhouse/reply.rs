//! What a server said: the number of its error, the row it names, the first line of its text.

use super::client::Reply;

/// Characters of an error that are kept.
const LONGEST_MESSAGE: usize = 1000;

/// An answer that is no success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// HTTP status; 0 when no answer came.
    pub status: u16,
    /// ClickHouse's own number; proxies have none.
    pub code: Option<u32>,
    /// The row that is to blame, counted from 1.
    pub row: Option<usize>,
    /// The first line of the text.
    pub message: String,
}

impl Failure {
    /// Of an answer, unless it is a success. A status of 200 is none when an error came after it was sent.
    pub fn of(reply: &Reply) -> Result<(), Self> {
        let text = String::from_utf8_lossy(&reply.body);
        let code = reply.exception.or_else(|| own_code(&text));
        let is_failure = !(200..300).contains(&reply.status) || reply.exception.is_some() || is_exception(&text);
        if !is_failure {
            return Ok(());
        }
        Err(Self { status: reply.status, code, row: row(&text), message: first_line(&text, reply.status) })
    }

    /// No answer came, and why.
    pub fn lost(why: String) -> Self {
        Self { status: 0, code: None, row: None, message: why }
    }

    /// The number, or else the HTTP status, for people.
    pub fn shown_code(&self) -> String {
        match (self.code, self.status) {
            (Some(code), _) => code.to_string(),
            (None, 0) => "none".to_owned(),
            (None, status) => format!("HTTP {status}"),
        }
    }
}

/// `Code: 27. DB::Exception: …`, which older servers write as `Code: 27, e.displayText() = DB::Exception: …`.
fn is_exception(text: &str) -> bool {
    own_code(text).is_some() && text.contains("DB::Exception")
}

fn own_code(text: &str) -> Option<u32> {
    let rest = text.trim_start().strip_prefix("Code: ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    rest.get(..end)?.parse().ok()
}

/// The last `(at row N)`: what stands before it may be quoted from the data.
fn row(text: &str) -> Option<usize> {
    const BEFORE: &str = "(at row ";
    let rest = text.get(text.rfind(BEFORE)? + BEFORE.len()..)?;
    rest.get(..rest.find(')')?)?.parse().ok()
}

fn first_line(text: &str, status: u16) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    if line.is_empty() {
        return format!("HTTP status {status} without a text");
    }
    let end = line.char_indices().nth(LONGEST_MESSAGE).map_or(line.len(), |(at, _)| at);
    line.get(..end).unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(status: u16, exception: Option<u32>, body: &str) -> Option<Failure> {
        Failure::of(&Reply { status, exception, body: body.as_bytes().to_vec() }).err()
    }

    #[test]
    fn success() {
        assert_eq!(failure(200, None, ""), None);
        assert_eq!(failure(200, None, "Code: what"), None);
    }

    #[test]
    fn a_status_of_200_can_carry_a_failure() {
        assert_eq!(failure(200, Some(241), "").unwrap().code, Some(241));
        assert_eq!(failure(200, None, "Code: 252. DB::Exception: Too many parts").unwrap().code, Some(252));
    }

    #[test]
    fn number_row_and_first_line() {
        let new = "Code: 27. DB::Exception: Cannot parse input: expected '\"' before: 'bad (at row 9)': (at row 3)\n: \
                   While executing ParallelParsingBlockInputFormat. (CANNOT_PARSE_INPUT_ASSERTION_FAILED)\n";
        let failure_of = failure(400, Some(27), new).unwrap();
        assert_eq!((failure_of.code, failure_of.row), (Some(27), Some(3)));
        assert!(failure_of.message.ends_with("(at row 3)"), "{}", failure_of.message);
        let old = "Code: 117, e.displayText() = DB::Exception: Unknown field found while parsing JSONEachRow format: \
                   zz: (at row 1)\n, e.what() = DB::Exception";
        let failure_of = failure(500, None, old).unwrap();
        assert_eq!((failure_of.code, failure_of.row), (Some(117), Some(1)));
    }

    #[test]
    fn a_proxy_has_no_number() {
        let failure_of = failure(502, None, "<html>Bad Gateway</html>").unwrap();
        assert_eq!((failure_of.code, failure_of.shown_code().as_str()), (None, "HTTP 502"));
        assert_eq!(failure(503, None, "").unwrap().message, "HTTP status 503 without a text");
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        assert_eq!(failure(500, None, &"é".repeat(3000)).unwrap().message.chars().count(), LONGEST_MESSAGE);
    }
}
