//! Fixed words of enums, such as keys in presets.toml.

/// Implements `ALL`, `as_str` and `Display` of an enum by the word of each variant.
macro_rules! enum_words {
    ($name:ident { $($variant:ident: $word:literal),+ $(,)? }) => {
        impl $name {
            /// Every variant, in display order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// Returns the fixed word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use enum_words;
