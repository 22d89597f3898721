//! What all plugins that talk to Elasticsearch or OpenSearch share: where the servers are and who we are to them
//! ([`servers`], over [`hosts`], [`cloud`] and [`credentials`]), how requests get there ([`connections`], [`endpoint`],
//! [`http`]), what a server says about itself ([`about`]), and questions to them ([`search`], [`esql`]).

pub mod about;
pub mod cloud;
pub mod connections;
pub mod credentials;
pub mod endpoint;
pub mod esql;
pub mod hosts;
pub mod http;
pub mod search;
pub mod servers;
