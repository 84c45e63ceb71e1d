//! Questions to the user while a call runs. The call's clock pauses until they answer. Needs the grant `elicitation`
//! and a client that supports it; check [`crate::context::client`].
//!
//! ```
//! use gatehouse_sdk::{Fault, elicitation::{self, Answer}, testing};
//!
//! fn delete(name: &str) -> Result<String, Fault> {
//!     let form = r#"{"type":"object","properties":{"sure":{"type":"boolean","title":"Delete it"}},"required":["sure"]}"#;
//!     match elicitation::ask(&format!("Delete '{name}' permanently?"), form)? {
//!         Answer::Accepted(answer) if answer.contains("true") => Ok(format!("deleted '{name}'")),
//!         _ => Ok(format!("did not delete '{name}'")),
//!     }
//! }
//!
//! // In a test:
//! let host = testing::Fake::new().ask_person(|message, _| {
//!     assert_eq!(message, "Delete 'notes' permanently?");
//!     Ok(Answer::Declined)
//! });
//! assert_eq!(host.run(|| delete("notes")).as_deref(), Ok("did not delete 'notes'"));
//! ```

pub use crate::bindings::gatehouse::gate::elicitation::{Answer, Consent};

host_functions! {
    elicitation:

    /// Shows a form. `schema` is a JSON Schema of type `object` with flat fields; an accepted answer matches it.
    ///
    /// # Errors
    /// `denied` if the client shows no forms, `timed-out` if the user does not answer within ten minutes.
    fn ask as ask_person(message: &str, schema: &str) -> Answer;

    /// Asks the user to open a URL, which the client shows in full: `https:`, or `http:` on this machine.
    fn open as open_address(message: &str, url: &str) -> Consent;
}
