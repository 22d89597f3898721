//! The least that a program has to do for each workload of `bench/run`, single-threaded and written for its input
//! alone: no configuration, no events that plugins share, no acknowledgement. It is a yardstick, not a proof.
//!
//! usage: spillway-limit w1|w2|w3|w4|w6 INPUT OUTPUT OUTPUT2; w4 reads one connection to 127.0.0.1:$BENCH_PORT

mod time;
mod tree;

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpListener;

use memchr::{memchr, memchr_iter};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Bytes of a read and of a write.
const BLOCK: usize = 1 << 20;

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, workload, input, output, output2] = args.as_slice() else { panic!("see the top of the source") };
    let mut out = Out::create(output)?;
    match workload.as_str() {
        "w1" => each_line(File::open(input)?, |line| out.line(|bytes| bytes.extend_from_slice(line)))?,
        "w2" => each_line(File::open(input)?, |line| out.line(|bytes| apache(line, bytes)))?,
        "w3" => {
            let mut second = Out::create(output2)?;
            each_line(File::open(input)?, |line| {
                let (tree, is_first) = tree::document(line);
                if is_first { &mut out } else { &mut second }.line(|bytes| tree.write(bytes))
            })?;
            second.flush()?;
        }
        "w4" => {
            let port = std::env::var("BENCH_PORT").expect("BENCH_PORT").parse().expect("a port");
            let (connection, _) = TcpListener::bind(("127.0.0.1", port))?.accept()?;
            each_line(connection, |line| out.line(|bytes| syslog(line, bytes)))?;
        }
        "w6" => each_line(File::open(input)?, |line| out.line(|bytes| firewall(line, bytes)))?,
        other => panic!("no workload {other}"),
    }
    out.flush()
}

struct Out {
    file: File,
    bytes: Vec<u8>,
}

impl Out {
    fn create(path: &str) -> io::Result<Self> {
        Ok(Self { file: File::create(path)?, bytes: Vec::with_capacity(2 * BLOCK) })
    }

    fn line(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        write(&mut self.bytes);
        self.bytes.push(b'\n');
        if self.bytes.len() >= BLOCK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}

fn each_line(mut source: impl Read, mut work: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut buffer = vec![0; 2 * BLOCK];
    let mut kept = 0;
    loop {
        let read = source.read(&mut buffer[kept..kept + BLOCK])?;
        if read == 0 {
            return Ok(());
        }
        let end = kept + read;
        let mut start = 0;
        for at in memchr_iter(b'\n', &buffer[..end]) {
            work(&buffer[start..at])?;
            start = at + 1;
        }
        buffer.copy_within(start..end, 0);
        kept = end - start;
    }
}

/// What is before `until`, and what is behind it.
fn cut(text: &[u8], until: u8) -> (&[u8], &[u8]) {
    memchr(until, text).map_or((text, &[]), |at| (&text[..at], &text[at + 1..]))
}

fn apache(line: &[u8], out: &mut Vec<u8>) {
    let (host, rest) = cut(line, b' ');
    let (_, rest) = cut(rest, b' ');
    let (user, rest) = cut(rest, b' ');
    let (when, rest) = cut(&rest[1..], b']');
    let (method, rest) = cut(&rest[2..], b' ');
    let (path, rest) = cut(rest, b' ');
    let (version, rest) = cut(&rest[5..], b'"');
    let (status, rest) = cut(&rest[1..], b' ');
    let (size, rest) = cut(rest, b' ');
    let (referrer, rest) = cut(&rest[1..], b'"');
    let (agent, _) = cut(&rest[2..], b'"');
    let mut fields = Fields::begin(out);
    fields.raw("@timestamp", |out| time::write(time::apache(when), out));
    fields.text("host", host);
    fields.text_unless_dash("user", user);
    fields.text("method", method);
    fields.text("path", path);
    fields.text("version", version);
    fields.number("status", status);
    if size != b"-" {
        fields.number("size", size);
    }
    fields.text_unless_dash("referrer", referrer);
    fields.text_unless_dash("agent", agent);
    fields.end();
}

fn syslog(line: &[u8], out: &mut Vec<u8>) {
    let (priority, rest) = cut(&line[1..], b'>');
    let (when, rest) = rest.split_at(15);
    let (host, rest) = cut(&rest[1..], b' ');
    let (program, rest) = cut(rest, b'[');
    let (pid, rest) = cut(rest, b']');
    let mut fields = Fields::begin(out);
    fields.raw("@timestamp", |out| time::write(time::syslog(when), out));
    fields.number("priority", priority);
    fields.text("host", host);
    fields.text("program", program);
    fields.number("pid", pid);
    fields.text("message", &rest[2..]);
    fields.end();
}

fn firewall(line: &[u8], out: &mut Vec<u8>) {
    let (when, rest) = cut(line, b' ');
    let (device, rest) = cut(rest, b' ');
    let (program, mut rest) = cut(rest, b' ');
    let mut fields = Fields::begin(out);
    fields.raw("@timestamp", |out| time::write(time::iso(when), out));
    fields.text("device", device);
    fields.text("program", program);
    while !rest.is_empty() {
        let (key, behind) = cut(rest, b'=');
        let (value, behind) = if behind.first() == Some(&b'"') {
            let (value, behind) = cut(&behind[1..], b'"');
            (value, behind.get(1..).unwrap_or_default())
        } else {
            cut(behind, b' ')
        };
        let key = std::str::from_utf8(key).expect("keys are ASCII");
        match key {
            "id" | "sport" | "dport" | "len" | "ttl" | "sent" | "rcvd" => fields.number(key, value),
            _ => fields.text(key, value),
        }
        rest = behind;
    }
    fields.end();
}

/// A JSON object on its way out.
struct Fields<'o> {
    out: &'o mut Vec<u8>,
    next: u8,
}

impl<'o> Fields<'o> {
    fn begin(out: &'o mut Vec<u8>) -> Self {
        Self { out, next: b'{' }
    }

    fn raw(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) {
        self.out.push(std::mem::replace(&mut self.next, b','));
        tree::write_text(name.as_bytes(), self.out);
        self.out.push(b':');
        write(self.out);
    }

    fn text(&mut self, name: &str, value: &[u8]) {
        self.raw(name, |out| tree::write_text(value, out));
    }

    fn text_unless_dash(&mut self, name: &str, value: &[u8]) {
        if value != b"-" {
            self.text(name, value);
        }
    }

    /// The input has only plain numbers where it has any; they are parsed all the same, as a pipeline has to.
    fn number(&mut self, name: &str, digits: &[u8]) {
        let number = digits.iter().fold(0_u64, |number, digit| number * 10 + u64::from(digit - b'0'));
        self.raw(name, |out| out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()));
    }

    fn end(self) {
        self.out.push(b'}');
    }
}
