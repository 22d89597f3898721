//! The monitoring API: what runs and how it does, over HTTP, in the shapes of Logstash's API.
//!
//! [`Server`] finds a free port and serves [`Node`]; [`reply`] has the parts that all answers share, and each family
//! of endpoints has a file: [`root`], [`node_info`], [`node_stats`], [`graph`], [`loggers`], [`health`], [`health_report`].
//! Numbers that Logstash gives as integers are integers here: clients decode them into such.

mod concerns;
mod graph;
mod health;
mod health_report;
mod loggers;
mod node_info;
mod node_stats;
mod reply;
mod root;
mod server;

pub use server::{BindError, Server};

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, put};
use tokio_util::sync::CancellationToken;

use crate::logging::Levels;
use crate::metrics::Node;

/// What handlers work with.
#[derive(Clone)]
struct Api {
    node: Arc<Node>,
    levels: Arc<Levels>,
    stop: CancellationToken,
}

fn router(api: Api) -> Router {
    Router::new()
        .route("/", get(root::root))
        .route("/_node", get(node_info::all))
        .route("/_node/{list}", get(node_info::listed))
        .route("/_node/pipelines/{id}", get(node_info::pipeline))
        .route("/_node/plugins", get(node_info::plugins))
        .route("/_node/stats", get(node_stats::all))
        .route("/_node/stats/{list}", get(node_stats::listed))
        .route("/_node/stats/pipelines/{id}", get(node_stats::pipeline))
        .route("/_node/logging", get(loggers::levels).put(loggers::set))
        .route("/_node/logging/reset", put(loggers::reset))
        .route("/_health_report", get(health_report::health_report))
        .route("/_health/live", get(health::live))
        .route("/_health/ready", get(health::ready))
        .fallback(reply::not_found)
        .method_not_allowed_fallback(reply::not_found)
        .with_state(api)
}
