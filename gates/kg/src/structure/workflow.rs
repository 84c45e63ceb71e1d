//! What a Workflow page must hold.

use gatehouse_sdk::knowledge::PageType;
use gatehouse_wiki::Kind;

use super::{Guide, LinkRule, Section};

pub(super) static GUIDE: Guide = Guide {
    kind: Kind(PageType::Workflow),
    folder: "workflows",
    what: "A Workflow is a way from a goal to a result: the steps in order, what each needs and leaves behind, and \
           where the way forks. Each step rests on a Principle.",
    unless: "If there is one step, it is an Implementation. If the order does not matter, they are separate \
             Principles. If it is a way of choosing, it is a Heuristic.",
    example: "Log_Recovery_After_Crash",
    sources: "* [[source::Repo|Project|https://example.org/project]]\n\
              * [[source::Doc|Guide|https://example.org/docs/guide]]",
    sections: &[
        Section {
            heading: "== Overview ==",
            belongs: "one or two sentences: from what to what, and for whom. Search results show them alone.",
            leave_out: "the steps.",
            skeleton: "End-to-end process for <getting from what to what> with <tools>.",
        },
        Section {
            heading: "=== Description ===",
            belongs: "the shape of the whole: its phases, what carries over from one to the next, what it decides \
                      on the way, and how long or how costly it is.",
            leave_out: "details of a step; they stand with the step.",
            skeleton: "<The phases and what each hands to the next.>",
        },
        Section {
            heading: "=== Usage ===",
            belongs: "goals that it serves, inputs that must exist before it starts, results that exist after it \
                      ends, and goals that another Workflow serves better.",
            leave_out: "installation; an Environment holds it.",
            skeleton: "Use it when:\n* <goal>\n\n'''Needs:'''\n* <input>\n\n'''Leaves behind:'''\n* <result>",
        },
        Section {
            heading: "== Execution Steps ==",
            belongs: "a numbered heading for each step, the link to its Principle directly below, then what is \
                      done, what to watch for, and how to tell that the step has succeeded.",
            leave_out: "code. A step that can't be said in words is missing a Principle or an Implementation.",
            skeleton: "=== Step 1: <Name> ===\n[[step::Principle:Project_Name]]\n\n<What is done, and why now.>\n\n\
                       '''Watch for:'''\n* <what goes wrong, and how it shows>\n\n'''Done when:''' <observation>\n\n\
                       === Step 2: <Name> ===\n[[step::Principle:Project_Other_Name]]\n\n<What is done.>\n\n\
                       '''Done when:''' <observation>",
        },
        Section {
            heading: "== Execution Diagram ==",
            belongs: "the steps as a graph, with the same names as above; every fork with its condition, every \
                      loop with what ends it.",
            leave_out: "steps that are not described above.",
            skeleton: "{{#mermaid:graph TD\n    A[Step 1] --> B{Condition?}\n    B -->|Yes| C[Step 2]\n    B -->|No| A\n}}",
        },
        Section {
            heading: "== GitHub URL ==",
            belongs: "the repository with code that runs the whole way, if there is one; if not, say so.",
            leave_out: "repositories of the libraries that are used; they are sources.",
            skeleton: "[[github_url::https://example.org/project/workflow]]",
        },
        Section {
            heading: "== Related Pages ==",
            belongs: "the links below, and nothing else; the steps once more, in order.",
            leave_out: "what the steps link to; it is one link further.",
            skeleton: "* [[step::Principle:Project_Name]]\n* [[step::Principle:Project_Other_Name]]\n\
                       * [[uses_heuristic::Heuristic:Project_Name_Tip]]",
        },
    ],
    links: &[
        LinkRule { link: "[[step::Principle:Name]]", rule: "one for each step, in order; at least two." },
        LinkRule {
            link: "[[uses_heuristic::Heuristic:Name]]",
            rule: "any number: advice for the whole way, or for a fork in it.",
        },
    ],
};
