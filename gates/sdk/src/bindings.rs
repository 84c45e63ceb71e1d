//! What wit-bindgen makes of `wit/0.1.0`, and nothing else. The rest of the SDK, and every gate, uses
//! these types through the modules that re-export them.
//!
//! A component has to have everything that its world exports. What a gate may export and need not is therefore a
//! world of its own each, with the same types, and `export!` joins those that the gate has.
//!
//! This is the only module with unsafe code: the canonical ABI passes pointers. On targets other than
//! wasm the imports are stubs that are never called; see [`crate::testing`].

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
