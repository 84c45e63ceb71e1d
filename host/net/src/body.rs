//! Bodies, read to their end and no further than they may go, whatever their headers say.

use reqwest::{Error, Response};

/// Why a body was not read to its end.
#[derive(Debug)]
pub enum BodyError {
    /// It has more bytes than it may have.
    TooLarge,
    /// Whoever reads it wanted no more.
    Stopped,
    /// The connection ended after so many bytes; the error names no address.
    Broken(Error, usize),
}

/// Reads a body of at most `limit` bytes.
///
/// # Errors
/// See [`BodyError`].
pub async fn read_body(response: Response, limit: usize) -> Result<Vec<u8>, BodyError> {
    read_body_while(response, limit, |_| true).await
}

/// Reads a body of at most `limit` bytes, as long as `goes_on`, which sees each piece before it is kept.
///
/// # Errors
/// See [`BodyError`].
pub async fn read_body_while(
    mut response: Response,
    limit: usize,
    mut goes_on: impl FnMut(&[u8]) -> bool,
) -> Result<Vec<u8>, BodyError> {
    if response.content_length().is_some_and(|length| length > limit as u64) {
        return Err(BodyError::TooLarge);
    }
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => return Ok(body),
            Ok(Some(piece)) if body.len() + piece.len() > limit => return Err(BodyError::TooLarge),
            Ok(Some(piece)) if !goes_on(&piece) => return Err(BodyError::Stopped),
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Err(error) => return Err(BodyError::Broken(error.without_url(), body.len())),
        }
    }
}
