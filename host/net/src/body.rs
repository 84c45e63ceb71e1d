//! Reads response bodies with a size limit that does not trust `Content-Length`.

use reqwest::{Error, Response};

#[derive(Debug)]
pub enum BodyError {
    TooLarge,
    Stopped,
    /// Carries the error without the URL, and the number of bytes that were read.
    Broken(Error, usize),
}

/// Reads a body of at most `limit` bytes.
pub async fn read_body(response: Response, limit: usize) -> Result<Vec<u8>, BodyError> {
    read_body_while(response, limit, |_| true).await
}

/// Like [`read_body`], but stops if `goes_on` returns false for a chunk.
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
