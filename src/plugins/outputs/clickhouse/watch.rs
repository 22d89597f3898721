//! Looks after the nodes: who belongs to the cluster, who is well, who may come back.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Url;
use serde::Deserialize;

use super::LOG;
use super::client::{Reply, Unreachable};
use super::node::{Address, Node, Out};
use super::reply::Failure;
use super::request::{self, nodes_of};
use super::sink::Sink;
use super::verdict::{UNKNOWN_SETTING, forbids_start};
use crate::plugins::{PluginError, Stop};

/// How often it looks whether there is something to do.
const TICK: Duration = Duration::from_secs(1);
/// Longest wait for an answer to a question.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is logged that no node is healthy.
const COMPLAIN_EVERY: Duration = Duration::from_secs(60);

/// What is known of the nodes from the options.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    /// The option `hosts`.
    pub seeds: Vec<Address>,
    /// The option `cluster`.
    pub cluster: Option<String>,
    pub discovery_interval: Duration,
    pub exclude_hosts: Vec<String>,
    pub exclude_interval: Duration,
    /// Percent of a disk, when it is looked at.
    pub disk_used_percent: Option<f64>,
    pub http_connections: Option<f64>,
}

#[derive(Deserialize)]
struct Listed {
    host_name: String,
    host_address: String,
    shard_num: Number,
}

/// Servers may write large numbers as texts.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Plain(u64),
    Text(String),
}

impl Watch {
    /// Finds the nodes and asks them who they are. An error is a reason not to start; a server that cannot be reached
    /// is none.
    pub async fn start(&self, sink: &Sink) -> Result<(), PluginError> {
        if self.cluster.is_some() {
            self.discover(sink).await;
        } else {
            sink.nodes.replace(self.seeds.clone()).map_err(PluginError)?;
        }
        let nodes = sink.nodes.all();
        join_all(nodes.iter().map(|node| async {
            if let Err(why) = ping(node).await {
                sink.nodes.exclude(node, &why);
            }
        }))
        .await;
        for node in nodes.iter().filter(|node| node.is_healthy()) {
            if self.is_welcome(sink, node).await? {
                break;
            }
        }
        if sink.nodes.are_all_out() {
            tracing::warn!(target: LOG, "No ClickHouse server can be reached yet; rows wait until one is there");
        }
        Ok(())
    }

    /// Whether the node lets us in, with the settings of our inserts.
    async fn is_welcome(&self, sink: &Sink, node: &Node) -> Result<bool, PluginError> {
        loop {
            let url = sink.requests.question(&node.address.base, "SELECT 1", true);
            let failure = match node.http.get(url, PATIENCE).await {
                Err(lost) => {
                    sink.nodes.exclude(node, &lost.why);
                    return Ok(false);
                }
                Ok(reply) => match Failure::of(&reply) {
                    Ok(()) => {
                        tracing::info!(target: LOG, node = node.label.as_str(), "Connected to {}", node.label);
                        return Ok(true);
                    }
                    Err(failure) => failure,
                },
            };
            if failure.code == Some(UNKNOWN_SETTING)
                && let Some(name) = sink.requests.forget_setting(&failure.message)
            {
                tracing::warn!(target: LOG, setting = name,
                    "The server {} does not know the setting `{name}`: it is left out", node.label);
                continue;
            }
            if failure.code.is_some_and(forbids_start) {
                return Err(PluginError(format!("{} refuses us: {}", node.label, failure.message)));
            }
            tracing::warn!(target: LOG, node = node.label.as_str(), code = failure.shown_code(),
                "{} answers with code {}: {}", node.label, failure.shown_code(), failure.message);
            return Ok(true);
        }
    }

    /// Looks after the nodes until `closed`.
    pub async fn run(&self, sink: &Sink, closed: &Stop) {
        tokio::select! {
            () = closed.cancelled() => {}
            () = self.keep_looking(sink) => {}
        }
    }

    async fn keep_looking(&self, sink: &Sink) {
        let (mut discovered, mut checked) = (Instant::now(), Instant::now());
        let mut complained: Option<Instant> = None;
        loop {
            tokio::time::sleep(TICK).await;
            let is_lonely = sink.nodes.all().is_empty();
            if self.cluster.is_some() && (is_lonely || discovered.elapsed() >= self.discovery_interval) {
                discovered = Instant::now();
                self.discover(sink).await;
            }
            self.let_back_in(sink).await;
            if checked.elapsed() >= self.exclude_interval {
                checked = Instant::now();
                self.check_all(sink).await;
            }
            if !sink.nodes.are_all_out() {
                complained = None;
            } else if complained.is_none_or(|at| at.elapsed() >= COMPLAIN_EVERY) {
                complained = Some(Instant::now());
                tracing::error!(target: LOG, "No ClickHouse server can be reached; rows wait until one is back");
            }
        }
    }

    /// Pings nodes that failed long enough ago; all of them when there is no other.
    async fn let_back_in(&self, sink: &Sink) {
        let wait = if sink.nodes.are_all_out() { Duration::ZERO } else { self.exclude_interval };
        let nodes = sink.nodes.all();
        let due = nodes.iter().filter(|node| node.failed_for(wait));
        join_all(due.map(|node| async {
            match ping(node).await {
                Ok(()) => sink.nodes.include(node),
                // The next look comes after the whole time again.
                Err(_) => {
                    node.take_out(Out::Fault(Instant::now()));
                }
            }
        }))
        .await;
    }

    /// Asks the seeds, one after the other, for the nodes of the cluster. Without a good answer the old list stays.
    async fn discover(&self, sink: &Sink) {
        let Some(cluster) = &self.cluster else { return };
        for seed in &self.seeds {
            match self.nodes_by(sink, seed, cluster).await {
                Ok(nodes) => {
                    if let Err(error) = sink.nodes.replace(nodes) {
                        tracing::error!(target: LOG, "The nodes of the cluster cannot be used: {error}");
                    }
                    return;
                }
                Err(why) => tracing::warn!(target: LOG, node = seed.label(),
                    "{} did not name the nodes of the cluster `{cluster}`: {why}", seed.label()),
            }
        }
    }

    async fn nodes_by(&self, sink: &Sink, seed: &Address, cluster: &str) -> Result<Vec<Address>, String> {
        let node = sink.nodes.seed(seed.clone())?;
        let url = sink.requests.question(&seed.base, &nodes_of(cluster), false);
        let reply = answered(node.http.get(url, PATIENCE).await)?;
        let text = String::from_utf8_lossy(&reply.body);
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let listed: Result<Vec<Listed>, _> = lines.map(serde_json::from_str).collect();
        let listed = listed.map_err(|error| format!("its answer is not understood: {error}"))?;
        if listed.is_empty() {
            return Err("it knows no such cluster, or one without nodes".to_owned());
        }
        listed.into_iter().map(|listed| listed.address(&seed.base)).collect()
    }

    /// Looks at disks and connections of every node that did not fail.
    async fn check_all(&self, sink: &Sink) {
        if self.disk_used_percent.is_none() && self.http_connections.is_none() {
            return;
        }
        let nodes = sink.nodes.all();
        let to_check = nodes.iter().filter(|node| !matches!(node.out(), Some(Out::Fault(_))));
        join_all(to_check.map(|node| self.check(sink, node))).await;
    }

    async fn check(&self, sink: &Sink, node: &Node) {
        let disk = "SELECT max(1 - free_space / total_space) * 100 FROM system.disks";
        let connections = "SELECT value FROM system.metrics WHERE metric = 'HTTPConnection'";
        for (limit, sql, what) in [
            (self.disk_used_percent, disk, "percent of a disk are used"),
            (self.http_connections, connections, "HTTP connections are open"),
        ] {
            let Some(limit) = limit else { continue };
            match number(sink, node, sql).await {
                Ok(value) if value >= limit => {
                    return sink.nodes.exclude_by_check(node, &format!("{value} {what}, the limit is {limit}"));
                }
                Ok(_) => {}
                // Old servers lack the table; a node that is down is found by its inserts.
                Err(why) => tracing::debug!(target: LOG, node = node.label.as_str(), "a check has no answer: {why}"),
            }
        }
        if node.out() == Some(Out::Check) {
            sink.nodes.include(node);
        }
    }
}

impl Listed {
    /// Port and TLS are those of the seed, since the list has the port of another protocol.
    fn address(self, seed: &Url) -> Result<Address, String> {
        let shard = match &self.shard_num {
            Number::Plain(number) => Some(*number),
            Number::Text(text) => text.parse().ok(),
        };
        // Certificates have names.
        let host = if seed.scheme() == "https" { &self.host_name } else { &self.host_address };
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let mut base = seed.clone();
        base.set_host(Some(&host)).map_err(|error| format!("`{host}` is no host: {error}"))?;
        Ok(Address { base, shard, names: vec![self.host_name, self.host_address] })
    }
}

async fn ping(node: &Node) -> Result<(), String> {
    let reply = node.http.get(request::ping(&node.address.base), PATIENCE).await.map_err(|lost| lost.why)?;
    if reply.status == 200 { Ok(()) } else { Err(format!("it answered {} to a ping", reply.status)) }
}

async fn number(sink: &Sink, node: &Node, sql: &str) -> Result<f64, String> {
    let url = sink.requests.question(&node.address.base, sql, false);
    let reply = answered(node.http.get(url, PATIENCE).await)?;
    let text = String::from_utf8_lossy(&reply.body);
    text.trim().parse().map_err(|_| format!("`{}` is no number", text.trim()))
}

fn answered(reply: Result<Reply, Unreachable>) -> Result<Reply, String> {
    let reply = reply.map_err(|lost| lost.why)?;
    Failure::of(&reply).map_err(|failure| failure.message)?;
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(line: &str, seed: &str) -> Address {
        serde_json::from_str::<Listed>(line).unwrap().address(&Url::parse(seed).unwrap()).unwrap()
    }

    #[test]
    fn port_and_tls_are_those_of_the_seed() {
        let line = r#"{"host_name":"ch1.example","host_address":"10.0.0.1","shard_num":2,"replica_num":1}"#;
        let plain = address(line, "http://seed:8124/ch");
        assert_eq!((plain.base.as_str(), plain.shard), ("http://10.0.0.1:8124/ch", Some(2)));
        assert_eq!(address(line, "https://seed:8443").base.as_str(), "https://ch1.example:8443/");
        let six = r#"{"host_name":"h","host_address":"::1","shard_num":"3"}"#;
        let six = address(six, "http://seed:8123");
        assert_eq!((six.base.as_str(), six.shard), ("http://[::1]:8123/", Some(3)));
    }
}
