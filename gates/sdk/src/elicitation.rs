//! Questions to the person in front of the client, while a call runs: its time stands still until they answer. Needs the
//! grant `elicitation`, and a client that can show them; [`crate::context::client`] says what it can.
//!
//! ```
//! use gatehouse_sdk::{Fault, elicitation::{self, Answer}, testing};
//!
//! fn delete(name: &str) -> Result<String, Fault> {
//!     let form = r#"{"type":"object","properties":{"sure":{"type":"boolean","title":"Delete it"}},"required":["sure"]}"#;
//!     match elicitation::ask(&format!("Delete '{name}' for good?"), form)? {
//!         Answer::Accepted(filled) if filled.contains("true") => Ok(format!("'{name}' is gone")),
//!         _ => Ok(format!("'{name}' stays")),
//!     }
//! }
//!
//! // In a test:
//! let host = testing::Fake::new().ask_person(|message, _| {
//!     assert_eq!(message, "Delete 'notes' for good?");
//!     Ok(Answer::Declined)
//! });
//! assert_eq!(host.run(|| delete("notes")).as_deref(), Ok("'notes' stays"));
//! ```

pub use crate::bindings::gatehouse::gate::elicitation::{Answer, Consent};

host_functions! {
    elicitation:

    /// Shows a form; `schema` is a JSON Schema of type object with plain fields, and an accepted answer matches it.
    ///
    /// # Errors
    /// `denied` where the client shows no forms, `timed-out` where nobody answers in ten minutes.
    fn ask as ask_person(message: &str, schema: &str) -> Answer;

    /// Asks the person to open an address, which they are shown whole: https, or http on this machine.
    fn open as open_address(message: &str, url: &str) -> Consent;
}
