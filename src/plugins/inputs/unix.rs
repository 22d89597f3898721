//! `unix`: streams of bytes from a socket in the file system.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::Instrument;

use super::net::connection::{Connection, End};
use super::net::marks::Marks;
use super::net::reader::Readers;
use crate::event::{FieldRef, Text, Value};
use crate::plugins::{Decoders, Ecs, Input, InputPlugin, InputSink, Options, PluginError, Stop};

/// The plugin.
pub const PLUGIN: InputPlugin = InputPlugin { name: "unix", summary: "Reads from a Unix socket.", build };

/// Rest after a connection could not be accepted, and between two connections to a server.
const REST: Duration = Duration::from_millis(100);

struct Unix {
    is_client: bool,
    force_unlink: bool,
    retry_after: Duration,
    listener: Option<UnixListener>,
    shared: Arc<Shared>,
}

/// What all connections need.
struct Shared {
    path: PathBuf,
    decoders: Decoders,
    marks: Marks,
    readers: Readers,
    silence: Option<Duration>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Input> {
    let path = options.string("path").doc("The socket.").required();
    if options.is_set("path") && path.is_empty() {
        options.invalid("path", "the path of the socket is empty");
    }
    options.context().claims.hold(format_args!("socket {path}"));
    let mode = options
        .word("mode", &["server", "client"])
        .doc("Whether to make the socket and listen, or to connect to it.")
        .default("server".to_owned());
    let force_unlink = options
        .boolean("force_unlink")
        .doc("Whether a socket that is there is removed; else it is an error.")
        .default(false);
    let silence = options
        .number("data_timeout")
        .doc("A connection that is silent for so many seconds is closed; -1 for no limit.")
        .default(-1.0);
    let retry_after = options
        .seconds("socket_not_present_retry_interval_seconds")
        .doc("Wait for a socket that is not there, in client mode.")
        .default(Duration::from_secs(5));
    let decoders = options.decoder("codec", "line", &[]);
    let ecs = Ecs::read(options);
    let field = |flat: &str, ecs_names: &[&str]| match ecs.is_disabled() {
        true => FieldRef::top(flat),
        false => FieldRef::path_of(ecs_names),
    };
    let marks = Marks::new(vec![
        (field("host", &["host", "name"]), Value::from(Text::from(&*options.context().host))),
        (field("path", &["file", "path"]), Value::from(Text::from(&path))),
    ]);
    let shared = Shared {
        path: PathBuf::from(path),
        decoders,
        marks,
        readers: Readers::default(),
        silence: Duration::try_from_secs_f64(silence).ok().filter(|limit| !limit.is_zero()),
    };
    let is_client = mode == "client";
    Box::new(Unix { is_client, force_unlink, retry_after, listener: None, shared: Arc::new(shared) })
}

#[async_trait]
impl Input for Unix {
    async fn register(&mut self) -> Result<(), PluginError> {
        if !self.is_client {
            let path = &self.shared.path;
            make_way(path, self.force_unlink)?;
            let listener = UnixListener::bind(path);
            let refused = |e| PluginError(format!("cannot listen on {}: {e}", path.display()));
            self.listener = Some(listener.map_err(refused)?);
            tracing::info!(target: "logstash.inputs.unix", "Starting unix input listener on {}", path.display());
        }
        Ok(())
    }

    async fn run(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PluginError> {
        match &self.listener {
            Some(listener) => self.accept(listener, sink, stop).await,
            None => self.connect_again(sink, stop).await,
        }
        Ok(())
    }

    async fn close(&mut self) {
        if self.listener.take().is_some()
            && let Err(error) = std::fs::remove_file(&self.shared.path)
        {
            let path = self.shared.path.display();
            tracing::warn!(target: "logstash.inputs.unix", "{path} could not be removed: {error}");
        }
    }
}

/// Removes a socket that is in the way, if that is wanted. Anything but a socket stays.
fn make_way(path: &Path, force: bool) -> Result<(), PluginError> {
    let shown = path.display();
    match std::fs::symlink_metadata(path) {
        Err(_) => Ok(()),
        Ok(there) if force && there.file_type().is_socket() => {
            std::fs::remove_file(path).map_err(|e| PluginError(format!("cannot remove {shown}: {e}")))
        }
        Ok(_) if force => Err(PluginError(format!("{shown} is there and is no socket"))),
        Ok(_) => Err(PluginError(format!(
            "the socket {shown} is there already: another program listens on it, or one left it behind (then set \
             force_unlink => true)"
        ))),
    }
}

impl Unix {
    async fn accept(&self, listener: &UnixListener, sink: &InputSink, stop: &Stop) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let (shared, sink, stop) = (self.shared.clone(), sink.clone(), stop.clone());
                        let serve = async move { shared.serve(stream, &sink, &stop).await };
                        connections.spawn(serve.instrument(tracing::Span::current()));
                    }
                    Err(error) => {
                        tracing::warn!(target: "logstash.inputs.unix",
                            "a connection could not be accepted: {error}");
                        sleep(REST).await;
                    }
                },
            }
        }
        while connections.join_next().await.is_some() {}
    }

    async fn connect_again(&self, sink: &InputSink, stop: &Stop) {
        while !stop.is_cancelled() {
            let wait = match UnixStream::connect(&self.shared.path).await {
                Ok(stream) => {
                    self.shared.serve(stream, sink, stop).await;
                    REST
                }
                Err(error) => {
                    let (path, wait) = (self.shared.path.display(), self.retry_after);
                    tracing::warn!(target: "logstash.inputs.unix",
                        "cannot connect to {path}, next try in {} s: {error}", wait.as_secs_f64());
                    wait
                }
            };
            tokio::select! {
                () = sleep(wait) => {}
                () = stop.cancelled() => {}
            }
        }
    }
}

impl Shared {
    async fn serve(&self, stream: UnixStream, sink: &InputSink, stop: &Stop) {
        let connection = Connection {
            decoder: self.decoders.for_byte_stream(),
            mark: |sink: &InputSink, events| self.marks.before_options(sink, events),
            place: self.readers.enter(),
            silence: self.silence,
        };
        let path = self.path.display();
        match connection.run(Box::new(stream), sink, stop).await {
            End::Broken(error) => tracing::warn!(target: "logstash.inputs.unix", "{path}: connection closed: {error}"),
            End::Silent => tracing::info!(target: "logstash.inputs.unix", "{path}: a silent connection was closed"),
            End::Closed | End::Stopped => {}
        }
    }
}
