//! Classes of verbs: a question that stores, reads or lists something is not served by a tool that deletes.

use crate::names::split_identifier;

const DELETING: &str = "delete deletes deleting del remove removes removing rm erase destroy drop purge wipe clear clean \
    forget revoke unset uninstall unlink discard cancel detach unsubscribe undo prune trash";

/// Verbs that store, read or list.
const KEEPING: &str = "save store add create make write put append insert upload record remember read get show list \
    view open display print fetch retrieve find search look see count check download copy export";

/// Words before a verb. In "take Anna off the list", `list` is a noun.
const BEFORE_VERBS: &str = "to and then please you me us let lets i we can must";

fn is_one_of(word: &str, verbs: &str) -> bool {
    verbs.split_ascii_whitespace().any(|verb| verb.eq_ignore_ascii_case(word))
}

/// Whether a tool with this name deletes something.
pub(super) fn deletes(name: &str) -> bool {
    split_identifier(name).split(' ').any(|word| is_one_of(word, DELETING))
}

/// Whether a question stores, reads or lists something, and deletes nothing. `readings` are the question and its gloss.
pub(super) fn keeps<'a>(readings: impl Iterator<Item = &'a str>) -> bool {
    let mut keeps = false;
    for reading in readings {
        let mut before = "to";
        for word in reading.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            if is_one_of(word, DELETING) {
                return false;
            }
            keeps |= is_one_of(before, BEFORE_VERBS) && is_one_of(word, KEEPING);
            before = word;
        }
    }
    keeps
}

#[cfg(test)]
mod tests {
    use super::{deletes, keeps};

    #[test]
    fn questions_that_only_keep_are_recognized() {
        assert!(keeps(["save this note", "memory"].into_iter()));
        assert!(keeps(["list all branches"].into_iter()));
        assert!(keeps(["Could you show my notes?"].into_iter()));
        assert!(!keeps(["take Anna off the list"].into_iter()));
        for question in ["remove the list", "get rid of old branches", "branches"] {
            assert!(!keeps([question, "branches delete/remove"].into_iter()), "{question}");
        }
    }

    #[test]
    fn tools_delete_by_name() {
        for name in ["delete_entities", "removeNode", "kv-del"] {
            assert!(deletes(name), "{name}");
        }
        for name in ["list_deleted_files", "model_selection", "create_issue"] {
            assert!(!deletes(name), "{name}");
        }
    }
}
