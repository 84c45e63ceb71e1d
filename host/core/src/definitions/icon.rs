//! Icons of tools and prompts. They must be embedded: a URL would make clients contact foreign servers. SVG is refused
//! because it can contain scripts.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

use crate::{InvalidValue, invalid::ensure};

pub const MAX_ICONS: usize = 4;

/// Maximum bytes of the `data:` URI.
pub const MAX_ICON_BYTES: usize = 16 << 10;

/// Allowed media types and their magic bytes.
const ICON_FORMATS: [(&str, &[u8]); 3] =
    [("image/png", b"\x89PNG\r\n\x1a\n"), ("image/jpeg", b"\xff\xd8\xff"), ("image/webp", b"RIFF")];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Icon {
    /// `data:` URI of a PNG, JPEG or WebP in base64.
    pub src: String,
    /// Sizes such as `48x48`, or `any`.
    pub sizes: Vec<String>,
    /// Background that it is made for; `None` for any.
    pub theme: Option<IconTheme>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IconTheme {
    Light,
    Dark,
}

impl Icon {
    /// Checks the icon and returns its media type. The error continues a sentence about the icon.
    pub fn check(&self) -> Result<&'static str, InvalidValue> {
        let bytes = self.src.len();
        ensure!(bytes <= MAX_ICON_BYTES, "has {bytes} bytes; the limit is {MAX_ICON_BYTES}");
        let parts = self.src.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        let Some((kind, data)) = parts else {
            return Err("is not a base64 `data:` URI; the picture must be embedded".into());
        };
        let Some((kind, begins)) = ICON_FORMATS.into_iter().find(|(media_type, _)| *media_type == kind)
        else {
            return Err("is not image/png, image/jpeg or image/webp".into());
        };
        let is_one = STANDARD.decode(data).is_ok_and(|bytes| bytes.starts_with(begins));
        ensure!(is_one, "does not contain {kind} data");
        let is_size = |size: &String| {
            let digits =
                |part: &str| (1..=5).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
            size == "any"
                || size.split_once('x').is_some_and(|(width, height)| digits(width) && digits(height))
        };
        match self.sizes.iter().find(|size| !is_size(size)) {
            _ if self.sizes.len() > MAX_ICONS => Err(format!("has more than {MAX_ICONS} sizes").into()),
            Some(_) => Err("has an invalid size; write a size such as 48x48, or any".into()),
            None => Ok(kind),
        }
    }
}

pub fn check_all(icons: &[Icon]) -> Result<(), InvalidValue> {
    ensure!(icons.len() <= MAX_ICONS, "has {} icons; the limit is {MAX_ICONS}", icons.len());
    icons.iter().try_for_each(|icon| {
        icon.check().map(drop).map_err(|reason| format!("has an icon that {reason}").into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn icon(src: &str) -> Icon {
        Icon { src: src.into(), sizes: vec!["48x48".into()], theme: None }
    }

    #[test]
    fn only_pictures_that_lie_in_the_list_are_icons() {
        let png = format!("data:image/png;base64,{}", STANDARD.encode(b"\x89PNG\r\n\x1a\n..."));
        assert_eq!(icon(&png).check(), Ok("image/png"));
        let large = format!("{png}{}", "A".repeat(MAX_ICON_BYTES));
        let script = STANDARD.encode("<svg onload=alert(1)/>");
        for (src, reason) in [
            ("https://icons.example/a.png", "not a base64 `data:` URI"),
            (&large, "the limit is 16384"),
            ("data:image/png;base64,AAAA", "does not contain image/png"),
            ("data:image/png;base64,!", "does not contain image/png"),
            (&format!("data:image/svg+xml;base64,{script}"), "is not image/png"),
            (&format!("data:text/html;base64,{script}"), "is not image/png"),
            ("javascript:alert(1)", "not a base64 `data:` URI"),
        ] {
            let error = icon(src).check().expect_err("refused").to_string();
            assert!(error.contains(reason), "{error}");
        }
        let odd = Icon { sizes: vec!["48 x 48".into()], ..icon(&png) };
        assert!(odd.check().is_err());
        assert!(check_all(&vec![icon(&png); 5]).is_err());
    }
}
