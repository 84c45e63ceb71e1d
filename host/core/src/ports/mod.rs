//! What the house needs from outside, as traits. Engines, models and clocks live in other crates and
//! meet the capabilities here; nothing in this folder opens a file or a socket.

pub mod clock;
pub mod http;
pub mod knowledge;
pub mod text;

pub use clock::Clock;
pub use http::Http;
pub use knowledge::Knowledge;
pub use text::{Text, TokenCounter};
