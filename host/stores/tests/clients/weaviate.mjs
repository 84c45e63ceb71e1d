// The official client (weaviate-ts-client 2.x) against the fake Weaviate, which then speaks as the real one does.
// Arguments: the client's folder, the server's host and port. Prints what it got as one line of JSON.
import { pathToFileURL } from "node:url";

const [folder, host] = process.argv.slice(2);
const { default: weaviate } = await import(pathToFileURL(`${folder}/dist/index.mjs`).href);
const client = weaviate.client({ scheme: "http", host });
const answers = {};

answers.version = (await client.misc.metaGetter().do()).version;
answers.classes = (await client.schema.getter().do()).classes.map((one) => one.class);

// What the engine made.
const ours = answers.classes[0];
answers.vectorizer = (await client.schema.classGetter().withClassName(ours).do()).vectorizer;
const count = await client.graphql.aggregate().withClassName(ours).withFields("meta { count }").do();
answers.count = count.data.Aggregate[ours][0].meta.count;
const found = await client.graphql
  .get()
  .withClassName(ours)
  .withFields("key version _additional { id }")
  .withLimit(10)
  .do();
const tip = found.data.Get[ours].filter((one) => one.key === "Heuristic/Acme Rest Tip");
answers.found = tip.map((one) => one.key);
const id = tip[0]._additional.id;
answers.object = (await client.data.getterById().withClassName(ours).withId(id).do()).properties.key;

// What the client makes.
const properties = [{ name: "title", dataType: ["text"] }];
const made = { class: "Fruit", vectorizer: "none", vectorIndexConfig: { distance: "cosine" }, properties };
await client.schema.classCreator().withClass(made).do();
const fruit = (n, title, vector) => ({
  class: "Fruit",
  id: `00000000-0000-0000-0000-00000000000${n}`,
  properties: { title },
  vector,
});
let batcher = client.batch.objectsBatcher();
for (const one of [fruit(1, "red apple", [1, 0]), fruit(2, "green pear", [0.6, 0.8]), fruit(3, "plum", [0, 1])]) {
  batcher = batcher.withObject(one);
}
answers.batch = (await batcher.do()).map((one) => one.result.status);
const late = await client.batch.objectsBatcher().withObject(fruit(4, "fig", [1, 0, 0])).do();
answers.dimension = [late[0].result.status, late[0].result.errors.error[0].message.includes("length 3")];
const near = await client.graphql
  .get()
  .withClassName("Fruit")
  .withFields("title _additional { distance }")
  .withNearVector({ vector: [1, 0], distance: 0.6 })
  .withWhere({ operator: "ContainsAny", path: ["title"], valueText: ["apple", "pear", "fig"] })
  .do();
answers.near = near.data.Get.Fruit.map((one) => [one.title, Math.round(one._additional.distance * 100) / 100]);
const odd = 'a "quote" \\ {brace}: [x]';
const equal = { operator: "Equal", path: ["title"], valueText: odd };
const quoted = await client.graphql.get().withClassName("Fruit").withFields("title").withWhere(equal).do();
answers.quoted = quoted.data.Get.Fruit.length;
const refused = client.graphql.get().withClassName("Fruit").withFields("colour").do();
answers.refused = await refused.then(() => "nothing", (error) => error.message.split(": {")[0]);
await client.data.deleter().withClassName("Fruit").withId(fruit(1).id).do();
const left = await client.graphql.aggregate().withClassName("Fruit").withFields("meta { count }").do();
answers.left = left.data.Aggregate.Fruit[0].meta.count;
const plum = { operator: "ContainsAny", path: ["title"], valueTextArray: ["plum"] };
const deleted = await client.batch.objectsBatchDeleter().withClassName("Fruit").withWhere(plum).do();
answers.deleted = deleted.results.successful;
await client.schema.classDeleter().withClassName("Fruit").do();
answers.after = (await client.schema.getter().do()).classes.map((one) => one.class);

console.log(JSON.stringify(answers));
