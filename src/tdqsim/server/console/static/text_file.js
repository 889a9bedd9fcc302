// A control that sends the text of a file in pieces, because the size of a message is limited.
const PIECE = 100000;
export default {
  template: `
    <label class="tdq-field">
      <span>{{ label }}</span>
      <input type="file" :aria-label="label" :accept="accept" @change="read">
    </label>
  `,
  props: { label: String, accept: String, most: Number },
  methods: {
    async read(event) {
      const file = event.target.files[0];
      if (!file) return;
      const text = file.size > this.most ? null : await file.text();
      event.target.value = "";
      if (text === null) {
        this.$emit("piece", { name: file.name, at: 0, text: null, last: true });
        return;
      }
      for (let at = 0; at === 0 || at < text.length; at += PIECE) {
        const last = at + PIECE >= text.length;
        this.$emit("piece", { name: file.name, at: at, text: text.slice(at, at + PIECE), last: last });
      }
    },
  },
  emits: ["piece"],
};
