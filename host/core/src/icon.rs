//! Icons of tools and prompts, which clients show to people. Only pictures that lie in the list itself: an address would have
//! each client's machine ask a stranger's server, and SVG can hold scripts.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

/// The most icons of one tool or prompt.
pub const MAX_ICONS: usize = 4;

/// The most bytes of one, as it is written.
pub const MAX_ICON_BYTES: usize = 16 << 10;

/// What an icon may be, by its media type and the bytes that it begins with.
const ICON_FORMATS: [(&str, &[u8]); 3] =
    [("image/png", b"\x89PNG\r\n\x1a\n"), ("image/jpeg", b"\xff\xd8\xff"), ("image/webp", b"RIFF")];

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Icon {
    /// The picture as a `data:` address: PNG, JPEG or WebP in base64.
    pub src: String,
    /// How large it is: `48x48`, or `any`.
    pub sizes: Vec<String>,
    /// What it is made for; none for any background.
    pub theme: Option<IconTheme>,
}

/// The background that an icon is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IconTheme {
    /// A light one.
    Light,
    /// A dark one.
    Dark,
}

impl Icon {
    /// Its media type; the error is the rest of a sentence about it.
    pub fn check(&self) -> Result<&'static str, String> {
        if self.src.len() > MAX_ICON_BYTES {
            return Err(format!("has {} bytes, the most is {MAX_ICON_BYTES}", self.src.len()));
        }
        let parts = self.src.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        let Some((kind, data)) = parts else {
            return Err("is no data: address in base64; the picture has to lie in the list itself".into());
        };
        let Some((kind, begins)) = ICON_FORMATS.into_iter().find(|(known, _)| *known == kind) else {
            return Err("is neither image/png nor image/jpeg nor image/webp".into());
        };
        let is_one = STANDARD.decode(data).is_ok_and(|bytes| bytes.starts_with(begins));
        if !is_one {
            return Err(format!("holds no {kind}"));
        }
        let is_size = |size: &String| {
            let digits =
                |part: &str| (1..=5).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
            size == "any"
                || size.split_once('x').is_some_and(|(width, height)| digits(width) && digits(height))
        };
        match self.sizes.iter().find(|size| !is_size(size)) {
            _ if self.sizes.len() > MAX_ICONS => Err(format!("has more than {MAX_ICONS} sizes")),
            Some(_) => Err("has a size that is neither like 48x48 nor any".into()),
            None => Ok(kind),
        }
    }
}

/// Checks all icons of one thing; the error is the rest of a sentence about it.
pub fn check_all(icons: &[Icon]) -> Result<(), String> {
    if icons.len() > MAX_ICONS {
        return Err(format!("has {} icons, the most is {MAX_ICONS}", icons.len()));
    }
    icons.iter().try_for_each(|icon| icon.check().map(drop).map_err(|why| format!("has an icon that {why}")))
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
        for (src, why) in [
            ("https://icons.example/a.png", "no data: address"),
            (&large, "the most is 16384"),
            ("data:image/png;base64,AAAA", "holds no image/png"),
            ("data:image/png;base64,!", "holds no image/png"),
            (&format!("data:image/svg+xml;base64,{script}"), "is neither"),
            (&format!("data:text/html;base64,{script}"), "is neither"),
            ("javascript:alert(1)", "no data: address"),
        ] {
            let told = icon(src).check().expect_err("refused");
            assert!(told.contains(why), "{told}");
        }
        let odd = Icon { sizes: vec!["48 x 48".into()], ..icon(&png) };
        assert!(odd.check().is_err());
        assert!(check_all(&vec![icon(&png); 5]).is_err());
    }
}
