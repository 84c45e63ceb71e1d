//! Bindings that wit-bindgen generates from `wit/0.1.0`, re-exported by other modules.
//!
//! A component must implement all exports of its world. Each optional export therefore has its own world, and `export!`
//! combines those that the gate has.
//!
//! Only this module contains unsafe code, because the canonical ABI passes pointers. On native targets the imports are
//! stubs that are never called; see [`crate::testing`].

#![allow(unsafe_code, missing_docs, unreachable_pub, clippy::all)]

wit_bindgen::generate!({
    path: "../../wit/0.1.0",
    world: "gate",
    additional_derives: [PartialEq],
    pub_export_macro: true,
    export_macro_name: "export_tools",
});

pub mod completing {
    wit_bindgen::generate!({
        path: "../../wit/0.1.0",
        inline: "package gatehouse:sdk; world completing { export gatehouse:gate/completion@0.1.0; }",
        world: "gatehouse:sdk/completing",
        with: { "gatehouse:gate/types@0.1.0": crate::bindings::gatehouse::gate::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_completion",
    });
}

pub mod converting {
    wit_bindgen::generate!({
        path: "../../wit/0.1.0",
        inline: "package gatehouse:sdk; world converting { export gatehouse:gate/convert@0.1.0; }",
        world: "gatehouse:sdk/converting",
        with: { "gatehouse:gate/types@0.1.0": crate::bindings::gatehouse::gate::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_convert",
    });
}

pub mod filtering {
    wit_bindgen::generate!({
        path: "../../wit/0.1.0",
        inline: "package gatehouse:sdk; world filtering { export gatehouse:gate/filter@0.1.0; }",
        world: "gatehouse:sdk/filtering",
        with: { "gatehouse:gate/types@0.1.0": crate::bindings::gatehouse::gate::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_filter",
    });
}

pub mod prompting {
    wit_bindgen::generate!({
        path: "../../wit/0.1.0",
        inline: "package gatehouse:sdk; world prompting { export gatehouse:gate/prompts@0.1.0; }",
        world: "gatehouse:sdk/prompting",
        with: { "gatehouse:gate/types@0.1.0": crate::bindings::gatehouse::gate::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_prompts",
    });
}

pub mod resourcing {
    wit_bindgen::generate!({
        path: "../../wit/0.1.0",
        inline: "package gatehouse:sdk; world resourcing { export gatehouse:gate/resources@0.1.0; }",
        world: "gatehouse:sdk/resourcing",
        with: { "gatehouse:gate/types@0.1.0": crate::bindings::gatehouse::gate::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_resources",
    });
}
