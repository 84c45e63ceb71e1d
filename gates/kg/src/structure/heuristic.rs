//! What a Heuristic page must hold.

use gatehouse_sdk::knowledge::PageType;
use gatehouse_wiki::Kind;

use super::{Guide, LinkRule, Section};

pub(super) static GUIDE: Guide = Guide {
    kind: Kind(PageType::Heuristic),
    folder: "heuristics",
    what: "A Heuristic is one piece of practical wisdom: what somebody with experience would tell a colleague. A \
           value to start from, a choice to prefer, a mistake to avoid. It is usually right and may be wrong, \
           and it says when.",
    unless: "If it always holds and can be derived, it is a Principle. If it only repeats the documentation of an \
             argument, it belongs in the Implementation. Two pieces of advice are two pages.",
    example: "Batch_Size_For_Log_Flush_Tip",
    sources: "* [[source::Repo|Project|https://example.org/project]]\n\
              * [[source::Doc|Where the advice is given|https://example.org/docs/tuning]]",
    sections: &[
        Section {
            heading: "== Overview ==",
            belongs: "the advice itself in one sentence, with its number. Search results show it alone: a reader \
                      who stops here should be able to act.",
            leave_out: "\"this page describes\"; the reasons.",
            skeleton: "<Do what> (<value>) when <situation>, to <benefit>.",
        },
        Section {
            heading: "=== Description ===",
            belongs: "what the advice is about, the symptoms of getting it wrong, and where in the code it is set.",
            leave_out: "the mathematics; link the Principle's page instead.",
            skeleton: "<What is being chosen, and what usually goes wrong.> It is set by `<option>` in <place>.",
        },
        Section {
            heading: "=== Usage ===",
            belongs: "what a reader observes when the advice applies, and when it does not.",
            leave_out: "cases that never come up.",
            skeleton: "Use it when:\n* '''<observation>:''' <detail>\n\nIt does not apply when:\n* <observation>",
        },
        Section {
            heading: "== The Insight (Rule of Thumb) ==",
            belongs: "action, value and trade-off, each on a line. Give a range and where in the range to start.",
            leave_out: "\"it depends\" without saying on what.",
            skeleton: "* '''Action:''' <what to set or do>\n* '''Value:''' <start here>; <range>; <unit>\n\
                       * '''Trade-off:''' <what is gained> against <what is lost>",
        },
        Section {
            heading: "== Reasoning ==",
            belongs: "why it works, as far as it is known, and what it rests on: a measurement, a default in the \
                      code, a maintainer's word. Tell measured from believed.",
            leave_out: "the advice once more in other words.",
            skeleton: "<Why.>\n\nEvidence: <measurement with its setting, or file and lines that show it>.",
        },
        Section {
            heading: "== Related Pages ==",
            belongs: "the links below, and nothing else.",
            leave_out: "other Heuristics, unless one contradicts this one: then say so under Usage, too.",
            skeleton: "* [[used_by::Implementation:Project_Name]]\n* [[used_by::Principle:Project_Name]]",
        },
    ],
    links: &[LinkRule {
        link: "[[used_by::Implementation:Name]]",
        rule: "each Implementation, Principle or Workflow that the advice is for; at least one. Kept as the \
               other end of that page's uses_heuristic.",
    }],
};
