//! What an Environment page must hold.

use gatehouse_sdk::knowledge::PageType;
use gatehouse_wiki::Kind;

use super::{Guide, LinkRule, Section};

pub(super) static GUIDE: Guide = Guide {
    kind: Kind(PageType::Environment),
    folder: "environments",
    what: "An Environment lists what must be in place before code runs: machine, system, packages, credentials. \
           With it, a reader on a bare machine gets to the point where the import works.",
    unless: "If it says how to use the software once it runs, it is an Implementation. If it is advice on which \
             hardware to choose, it is a Heuristic. Code with other needs gets an Environment of its own.",
    example: "Replicated_Log_Environment",
    sources: "* [[source::Repo|Project|https://example.org/project]]\n\
              * [[source::Doc|Installation guide|https://example.org/docs/install]]",
    sections: &[
        Section {
            heading: "== Overview ==",
            belongs: "one sentence: the platform, the main runtime with its version, and the hardware if it matters.",
            leave_out: "what the software is for.",
            skeleton: "<System> with <runtime and version> and <hardware> for running <what>.",
        },
        Section {
            heading: "=== Description ===",
            belongs: "which variants there are (operating systems, accelerators), how they differ, and what the \
                      software finds out by itself.",
            leave_out: "version lists; they go to the tables below.",
            skeleton: "<What this environment provides, and its variants.>",
        },
        Section {
            heading: "=== Usage ===",
            belongs: "which tasks need all of it and which get by with less.",
            leave_out: "instructions for the tasks.",
            skeleton: "Needed for <tasks>. <Task> also runs without <part>.",
        },
        Section {
            heading: "== System Requirements ==",
            belongs: "operating system, processor, accelerator, memory, disk: each with the least that works.",
            leave_out: "packages; wishes without a number.",
            skeleton: "{| class=\"wikitable\"\n|-\n! Category !! Requirement !! Notes\n|-\n\
                       | OS || <name and version> || <what is untested>\n|-\n\
                       | Hardware || <least that works> || <for which size of problem>\n|-\n\
                       | Disk || <space> || <what fills it>\n|}",
        },
        Section {
            heading: "== Dependencies ==",
            belongs: "system packages and language packages, each with the versions that work and, where one is \
                      only needed for a feature, which.",
            leave_out: "what those packages bring along themselves; versions nobody tried.",
            skeleton: "=== System Packages ===\n* `package` >= 1.2\n\n\
                       === Language Packages ===\n* `package` >= 1.2, < 2 (<why there is an upper limit>)",
        },
        Section {
            heading: "== Credentials ==",
            belongs: "the name of each environment variable or file that holds a secret, what it opens, and what \
                      works without it. If there are none, say so.",
            leave_out: "the secrets themselves, in any form, also expired ones.",
            skeleton: "* `VARIABLE_NAME`: <what it gives access to>; without it, <what does not work>",
        },
        Section {
            heading: "== Quick Install ==",
            belongs: "commands to paste into a fresh shell, in order, ending with one that shows that it worked.",
            leave_out: "alternatives and explanations; a reader wants one way that works.",
            skeleton: "<syntaxhighlight lang=\"bash\">\n<install command>\n<command that shows the version>\n</syntaxhighlight>",
        },
        Section {
            heading: "== Code Evidence ==",
            belongs: "the lines of the project that prove the requirements: version checks, feature detection, \
                      errors raised. Each with file and lines.",
            leave_out: "code that only happens to use a dependency.",
            skeleton: "Version check in `path/to/file.py:10-14`:\n<syntaxhighlight lang=\"python\">\n<quoted lines>\n\
                       </syntaxhighlight>",
        },
        Section {
            heading: "== Common Errors ==",
            belongs: "the message exactly as it appears, so that a search for it ends here; its cause; the cure.",
            leave_out: "errors of the code that runs in the environment.",
            skeleton: "{| class=\"wikitable\"\n|-\n! Error Message !! Cause !! Solution\n|-\n\
                       | `<message>` || <cause> || <cure>\n|}",
        },
        Section {
            heading: "== Compatibility Notes ==",
            belongs: "combinations that are known to work, to work in part, or to fail, with the versions.",
            leave_out: "guesses about what was never tried; say \"not tried\" instead.",
            skeleton: "* '''<platform or version>:''' <works | works in part: what is missing | fails: how>",
        },
        Section {
            heading: "== Related Pages ==",
            belongs: "the links below, and nothing else.",
            leave_out: "links to Principles; ideas need no environment.",
            skeleton: "* [[required_by::Implementation:Project_Name]]",
        },
    ],
    links: &[LinkRule {
        link: "[[required_by::Implementation:Name]]",
        rule: "each Implementation that needs it; kept as the other end of that page's requires_env.",
    }],
};
