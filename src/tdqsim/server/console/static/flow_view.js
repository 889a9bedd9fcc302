// A diagram: the server sends the picture when its layout changes, and otherwise only the texts that have changed.
// The picture is SVG that the server has made from escaped text; window.tdqDiagram has the zoom and the search.
export default {
  template: `
    <figure class="tdq-diagram" ref="figure">
      <div v-html="tools"></div>
      <div v-html="legend"></div>
      <div class="sheet" tabindex="0" role="group" :aria-label="name" v-html="svg" v-show="svg"></div>
    </figure>
  `,
  props: { tools: String, legend: String, svg: String, name: String },
  watch: {
    svg() {
      this.$nextTick(() => window.tdqDiagram?.again(this.$refs.figure));
    },
  },
  methods: {
    put(texts) {
      const places = {};
      for (const place of this.$refs.figure.querySelectorAll("[data-k]")) places[place.dataset.k] = place;
      for (const [key, [text, bad]] of Object.entries(texts)) {
        const place = places[key];
        if (!place) continue;
        place.textContent = text;
        place.classList.toggle("bad", bad);
      }
    },
  },
};
