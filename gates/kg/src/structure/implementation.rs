//! What an Implementation page must hold.

use gatehouse_sdk::knowledge::PageType;
use gatehouse_wiki::Kind;

use super::{Guide, LinkRule, Section};

pub(super) static GUIDE: Guide = Guide {
    kind: Kind(PageType::Implementation),
    folder: "implementations",
    what: "An Implementation documents one piece of code that somebody can call: a function, a class, a command. \
           A reader who has never opened the project should be able to use it correctly from this page.",
    unless: "If it explains why the method works, that part is a Principle. If it says what must be installed, \
             that part is an Environment. A second function with a life of its own gets a page of its own.",
    example: "LogWriter_append",
    sources: "* [[source::Repo|Project|https://example.org/project]]\n\
              * [[source::Doc|API reference|https://example.org/docs/api]]",
    sections: &[
        Section {
            heading: "== Overview ==",
            belongs: "one or two sentences: what the code does, for whom, and which library provides it. Search \
                      results show them alone.",
            leave_out: "the signature, marketing.",
            skeleton: "<Function, class or command> that <does what>, provided by <library>.",
        },
        Section {
            heading: "=== Description ===",
            belongs: "behaviour that the signature does not show: what it chooses by itself, what it changes \
                      outside its result, how it fails, what it costs.",
            leave_out: "the theory behind it; link the Principle.",
            skeleton: "<What happens when it is called, in order.>\n\n\
                       * '''Side effects:''' <files, network, global state>\n* '''Fails when:''' <condition>: <error>",
        },
        Section {
            heading: "=== Usage ===",
            belongs: "where in a program it is called, what must come before and what follows; and what it is not \
                      for, with the thing to use instead.",
            leave_out: "complete programs; they go to Usage Examples.",
            skeleton: "Call it after <what> and before <what>.\n\nNot for:\n* <case>: use <what>",
        },
        Section {
            heading: "== Code Reference ==",
            belongs: "where the code stands (repository, file, lines, and the commit or version they are true \
                      for), the signature exactly as written, and the import line.",
            leave_out: "the body. A few lines may be quoted where they settle a question.",
            skeleton: "=== Source Location ===\n\
                       * '''Repository:''' [https://example.org/project project]\n\
                       * '''File:''' path/to/file.py\n* '''Lines:''' L10-42 (version 1.2.3)\n\n\
                       === Signature ===\n<syntaxhighlight lang=\"python\">\ndef name(argument: type = default) -> result:\n\
                       </syntaxhighlight>\n\n\
                       === Import ===\n<syntaxhighlight lang=\"python\">\nfrom package import name\n</syntaxhighlight>",
        },
        Section {
            heading: "== I/O Contract ==",
            belongs: "every input a caller may set and every output, each with type, whether it is required, \
                      its default, its unit and its limits.",
            leave_out: "inputs that only the library itself sets.",
            skeleton: "=== Inputs ===\n{| class=\"wikitable\"\n|-\n! Name !! Type !! Required !! Description\n|-\n\
                       | name || type || Yes || <meaning, unit, limits>\n|-\n\
                       | name || type || No (default: value) || <meaning>\n|}\n\n\
                       === Outputs ===\n{| class=\"wikitable\"\n|-\n! Name !! Type !! Description\n|-\n\
                       | name || type || <meaning>\n|}",
        },
        Section {
            heading: "== Usage Examples ==",
            belongs: "the smallest call that does something useful, whole, imports included; then one example for \
                      each way of using it that differs. Say which of them you have run.",
            leave_out: "examples that need data the reader can't get; secrets.",
            skeleton: "=== Smallest Call ===\n<syntaxhighlight lang=\"python\">\nfrom package import name\n\n\
                       result = name(argument)\n</syntaxhighlight>",
        },
        Section {
            heading: "== Related Pages ==",
            belongs: "the links below, and nothing else.",
            leave_out: "Implementations that are called inside; a reader of this page need not know them.",
            skeleton: "* [[implements::Principle:Project_Name]]\n\
                       * [[requires_env::Environment:Project_Name_Environment]]\n\
                       * [[uses_heuristic::Heuristic:Project_Name_Tip]]",
        },
    ],
    links: &[
        LinkRule {
            link: "[[implements::Principle:Name]]",
            rule: "the idea it carries out, where there is a page for it.",
        },
        LinkRule { link: "[[requires_env::Environment:Name]]", rule: "what it needs to run; usually one." },
        LinkRule {
            link: "[[uses_heuristic::Heuristic:Name]]",
            rule: "any number: advice on its arguments and pitfalls.",
        },
    ],
};
