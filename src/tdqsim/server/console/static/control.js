// A labelled control of the browser's own: text, number, area, select or check.
export default {
  template: `
    <label class="tdq-field" :class="{ check: kind === 'check', grow: grow }">
      <span>{{ label }}</span>
      <textarea :aria-label="label" v-if="kind === 'area'" v-model="now" :rows="lines" :placeholder="hint" :class="{ mono: mono }" spellcheck="false" @input="tell"></textarea>
      <select :aria-label="label" v-else-if="kind === 'select'" v-model="now" @change="tell">
        <option v-for="option in options" :key="option.value" :value="option.value">{{ option.label }}</option>
      </select>
      <input :aria-label="label" v-else-if="kind === 'check'" type="checkbox" v-model="now" @change="tell">
      <input v-else :aria-label="label" :type="kind" v-model="now" :placeholder="hint" :class="{ mono: mono }" :min="least" :max="most" :step="step"
             autocomplete="off" spellcheck="false" @input="tell" @keydown.enter="enter">
    </label>
  `,
  props: { label: String, kind: String, value: null, options: Array, hint: String, mono: Boolean, grow: Boolean, lines: Number, least: Number, most: Number, step: String },
  data() {
    return { now: this.value };
  },
  watch: {
    value(value) {
      this.now = value;
    },
  },
  methods: {
    tell() {
      this.$emit("changed", this.now);
    },
    enter() {
      this.$emit("changed", this.now);
      this.$emit("enter");
    },
    put(value) {
      this.now = value;
    },
  },
  emits: ["changed", "enter"],
};
