// A table for looking: real table semantics, headings that sort, links, buttons, a line of depths in a cell.
// Everything that is shown is text to Vue, so nothing in it can be markup.
export default {
  template: `
    <div class="tdq-table-wrap" tabindex="0" role="group" :aria-label="caption">
    <table class="tdq-table" :class="{ keep: keep }" role="table" :aria-label="caption" :aria-busy="busy ? 'true' : null">
      <thead role="rowgroup">
        <tr role="row">
          <th v-for="column in columns" :key="column.key" role="columnheader" scope="col"
              :class="{ num: column.num, wide: column.wide }"
              :aria-sort="sort && sort.key === column.key ? (sort.down ? 'descending' : 'ascending') : null">
            <button v-if="column.sort" type="button" class="tdq-sort" @click="$emit('sort', column.key)">
              {{ column.label }}<span aria-hidden="true">{{ sort && sort.key === column.key ? (sort.down ? ' ▾' : ' ▴') : '' }}</span>
            </button>
            <template v-else-if="column.label">{{ column.label }}</template>
            <span v-else class="tdq-unseen">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        <tr v-for="row in rows" :key="row.id" role="row" :class="row.tone || null">
          <td v-for="(column, at) in columns" :key="column.key" role="cell" :data-label="column.label"
              :class="{ num: column.num, mono: column.mono, wide: column.wide, none: row.cells[at] === '' }">
            <template v-if="row.cells[at] !== null && typeof row.cells[at] === 'object'">
              <svg v-if="row.cells[at].spark" class="tdq-spark" viewBox="0 0 100 24" preserveAspectRatio="none"
                   role="img" :aria-label="row.cells[at].title || 'depth over time'">
                <polyline :points="row.cells[at].spark" fill="none" vector-effect="non-scaling-stroke" />
              </svg>
              <a v-if="row.cells[at].href" :href="row.cells[at].href"
                 :class="row.cells[at].tone ? ['tdq-chip', row.cells[at].tone] : null">{{ row.cells[at].text }}</a>
              <span v-else-if="row.cells[at].tone" class="tdq-chip" :class="row.cells[at].tone">{{ row.cells[at].text }}</span>
              <span v-else-if="row.cells[at].lines" class="tdq-lines"><span v-for="line in row.cells[at].lines">{{ line }}</span></span>
              <template v-else>{{ row.cells[at].text }}</template>
              <span v-if="row.cells[at].buttons" class="tdq-acts">
                <button v-for="button in row.cells[at].buttons" :key="button.id" type="button" class="tdq-button small"
                        :class="button.tone || null" :aria-label="button.title || button.label"
                        @click="$emit('act', { row: row.id, act: button.id })">{{ button.label }}</button>
              </span>
            </template>
            <template v-else>{{ row.cells[at] }}</template>
          </td>
        </tr>
        <tr v-if="!rows.length" role="row"><td role="cell" class="tdq-empty" :colspan="columns.length">{{ empty }}</td></tr>
      </tbody>
    </table>
    </div>
  `,
  props: { caption: String, columns: Array, rows: Array, sort: Object, empty: String, busy: Boolean, keep: Boolean },
  emits: ["sort", "act"],
};
