//! What a Principle page must hold.

use gatehouse_sdk::knowledge::PageType;
use gatehouse_wiki::Kind;

use super::{Guide, LinkRule, Section};

pub(super) static GUIDE: Guide = Guide {
    kind: Kind(PageType::Principle),
    folder: "principles",
    what: "A Principle explains one idea, technique or algorithm so that somebody could carry it out in any \
           language: what it is, why it works, and when it is the right choice.",
    unless: "If the page would be wrong after a library renames a function, it is an Implementation. If it \
             gives a number to start from or a habit to follow, it is a Heuristic. If it is an order of steps, \
             it is a Workflow.",
    example: "Write_Ahead_Logging",
    sources: "* [[source::Paper|Title of the paper|https://example.org/paper]]\n\
              * [[source::Repo|Project|https://example.org/project]]",
    sections: &[
        Section {
            heading: "== Overview ==",
            belongs: "one or two sentences that name the idea and what it achieves. Search results show them \
                      alone, so they must make sense without the rest.",
            leave_out: "history, praise, names of functions.",
            skeleton: "Technique for <achieving what> by <doing what>, so that <benefit>.",
        },
        Section {
            heading: "=== Description ===",
            belongs: "the problem it solves, how it solves it, and what it trades away. Define the terms you use.",
            leave_out: "how to call it in a library, installation, version numbers.",
            skeleton: "<The problem, in terms of what goes wrong without it.>\n\n\
                       <The idea: its parts, and how they work together.>\n\n\
                       <What it costs, and what it can't do.>",
        },
        Section {
            heading: "=== Usage ===",
            belongs: "the situations that call for it, and those that call for something else.",
            leave_out: "step-by-step instructions; a Workflow holds those.",
            skeleton: "Use it when:\n* <situation>\n\nChoose something else when:\n* <situation>: <what to use>",
        },
        Section {
            heading: "== Theoretical Basis ==",
            belongs: "why it works: the formula, the invariant, the argument, or pseudocode. Say what each \
                      symbol means, and with what assumptions it holds.",
            leave_out: "code copied from a project. What cannot be understood without running it belongs in an \
                        Implementation.",
            skeleton: "<math>\n<formula>\n</math>\n\nWhere:\n* <symbol>: <meaning and unit>\n\n\
                       '''Pseudocode:'''\n<syntaxhighlight lang=\"text\">\n<steps>\n</syntaxhighlight>",
        },
        Section {
            heading: "== Related Pages ==",
            belongs: "the links below, and nothing else.",
            leave_out: "pages that merely share a subject; the domains say that.",
            skeleton: "* [[implemented_by::Implementation:Project_Name]]\n\
                       * [[uses_heuristic::Heuristic:Project_Name_Tip]]",
        },
    ],
    links: &[
        LinkRule {
            link: "[[implemented_by::Implementation:Name]]",
            rule: "exactly one: the code that carries the idea out. With two, the page holds two ideas; with \
                   none, write the Implementation first.",
        },
        LinkRule {
            link: "[[uses_heuristic::Heuristic:Name]]",
            rule: "any number: rules of thumb for applying it.",
        },
    ],
};
