//! The server against real sockets on loopback: the whole cycle, streams, gates, keys and owners,
//! limits, the document of the interface.

mod creating;
mod cycle;
mod document;
mod gates;
mod house;
mod limits;
mod owners;
mod places;
mod reads;
mod sockets;
mod steering;
mod streams;
mod web_session;
mod wire;
