//! The line that a proxy puts before a connection (PROXY protocol, version 1): who is really at the other end.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::event::Text;

/// Longest line, its end included.
const LONGEST: usize = 107;

/// What the line says. Ports stay texts.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::plugins::inputs) struct Proxied {
    pub source: Text,
    pub source_port: Text,
    pub proxy: Text,
    pub proxy_port: Text,
}

/// Reads the line.
pub(in crate::plugins::inputs) async fn read<S>(stream: &mut S) -> io::Result<Proxied>
where
    S: AsyncRead + Unpin,
{
    let mut line = Vec::new();
    // Byte by byte, so that what follows the line stays where TLS finds it.
    while !line.ends_with(b"\r\n") {
        if line.len() >= LONGEST {
            return Err(invalid("no PROXY line"));
        }
        line.push(stream.read_u8().await?);
    }
    line.truncate(line.len() - 2);
    parse(&line).ok_or_else(|| invalid("no PROXY line"))
}

fn parse(line: &[u8]) -> Option<Proxied> {
    let line = std::str::from_utf8(line).ok()?;
    let words: Vec<&str> = line.split(' ').collect();
    if words.first() != Some(&"PROXY") {
        return None;
    }
    let word = |at: usize| words.get(at).map(|word| Text::from(*word)).unwrap_or_default();
    Some(Proxied { source: word(2), proxy: word(3), source_port: word(4), proxy_port: word(5) })
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    #[tokio::test]
    async fn the_line_names_both_ends() {
        let (mut ours, mut theirs) = tokio::io::duplex(1024);
        theirs.write_all(b"PROXY TCP4 10.0.0.1 10.0.0.2 4000 5000\r\nmore").await.unwrap();
        let proxied = read(&mut ours).await.unwrap();
        assert_eq!(proxied.source, "10.0.0.1");
        assert_eq!(proxied.proxy, "10.0.0.2");
        assert_eq!((proxied.source_port, proxied.proxy_port), (Text::from("4000"), Text::from("5000")));
        let mut rest = [0; 4];
        ours.read_exact(&mut rest).await.unwrap();
        assert_eq!(&rest, b"more");
    }

    #[tokio::test]
    async fn anything_else_is_refused() {
        for text in ["GET / HTTP/1.1\r\n\r\n".to_owned(), "PROXY ".repeat(30)] {
            let (mut ours, mut theirs) = tokio::io::duplex(1024);
            theirs.write_all(text.as_bytes()).await.unwrap();
            drop(theirs);
            assert!(read(&mut ours).await.is_err());
        }
    }
}
