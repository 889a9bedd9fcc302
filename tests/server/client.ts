// Writes two records, looks at them and at the queue, and asks for a queue that is not there.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] };
const [, , baseUrl, token] = process.argv;
const api = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
const path = { name: "TDQREGN", queue: "PAYQ" };
const several: components["schemas"]["Records"] = [{ text: "10.00" }, { hex: "F2" }];

const written = await api.POST("/api/v1/regions/{name}/queues/{queue}/records", { params: { path }, body: several });
const peeked = await api.GET("/api/v1/regions/{name}/queues/{queue}/records", { params: { path, query: { encoding: "hex" } } });
const state = await api.GET("/api/v1/regions/{name}/queues/{queue}", { params: { path } });
const none = await api.GET("/api/v1/regions/{name}/queues/{queue}", { params: { path: { ...path, queue: "NONE" } } });
const items: number = state.data!.NUMITEMS!;
const type: string = state.data!.TYPE!.cvda;
console.log(written.data?.records);
console.log(`[${peeked.data?.records.join(", ")}]`);
console.log(`${items} ${type}`);
console.log(`${none.response.status} ${none.error?.condition === "QIDERR"}`);
// @ts-expect-error  the types know each field of an answer
state.data!.NUMITEM;
