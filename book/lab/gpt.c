// A small GPT and one step of its training: forward, backward, update. `make engine` compiles it to gpt.wasm.
//
// It is babygpt's Transformer: RMSNorm without weights, q and k normalised, ReLU squared, Muon for the matrices
// of the blocks and Adam for the rest. Matrices are stored (in, out), so x W is one product.
// Shapes in comments: a batch of B windows has N = B T rows, each with C channels; head h owns D of them.

enum { D = 16, T = 64 };              // channels of a head, and tokens of a window
int L, H, V, B;                       // layers, heads, and windows of a batch; V: characters, in whole eights
static int C, F, N, MATRICES, TOTAL;  // C = H D, F = 4 C, N = B T; weights of a block's matrices, and of all

typedef float v4 __attribute__((vector_size(16)));  // four numbers that the processor handles at once

struct Block { float *q, *k, *v, *out, *up, *down; };
struct Memory { float *h, *q, *k, *v, *att, *y, *h2, *up, *act, *rms, *rms_q, *rms_k, *rms2; };

float *w, *grad, *mean, *square;         // weights, gradients, and the running means of both optimizers
int *tokens, *targets;                   // (B, T)  a target of -1 does not count
float *likelihood, *logits;              // (B, T)  probability of each target; (N, V)
float *attention;                        // (L, B, H, T, T)
float *cosine, *sine, *bias;             // (T, D / 2), and (H, T) by distance: the encoding, filled in by worker.js
float *heard;                            // (L, H)  1, or 0 for a head that is switched off
int vocab_size, learned;                 // characters that occur; whether what is added to the embeddings is trained
int shifts;                              // whether a token also carries the embedding of the token before it

static struct Memory memory[8];
static float *x, *x0, *final, *rms0, *rms_final;  // the stream, and its two ends
static float *dx, *dy, *dq, *dk, *dv, *dact;
static float *scores, *flipped, *gram, *square_gram, *wide;

// ---------------------------------------------------------------- memory

extern char __heap_base;
static char *end;

// `n` numbers, all zero: memory that was never used.
static float *numbers(int n) {
    char *place = end;
    end += (n * sizeof(float) + 15) & -16;
    long missing = (long)end - (long)__builtin_wasm_memory_size(0) * 65536;
    if (missing > 0) __builtin_wasm_memory_grow(0, (missing + 65535) / 65536);
    return (float *)place;
}

// Where things lie among the weights: embeddings (V, C), blocks, head (C, V), token shift (C,), and what is added to
// embeddings (T, C).
static struct Block block_of(float *all, int layer) {
    float *p = all + V * C + layer * MATRICES;
    int n = C * C;
    return (struct Block){p, p + n, p + 2 * n, p + 3 * n, p + 4 * n, p + 8 * n};
}
static float *head_of(float *all) { return all + V * C + L * MATRICES; }
static float *shift_of(float *all) { return head_of(all) + C * V; }
static float *added_of(float *all) { return shift_of(all) + C; }

// Make room for a model; to be called once. Returns how many weights it has.
int make(int layers, int heads, int characters, int windows) {
    L = layers, H = heads, B = windows, C = H * D, F = 4 * C, N = B * T, MATRICES = 12 * C * C;
    vocab_size = characters, V = (characters + 7) & -8, TOTAL = 2 * V * C + L * MATRICES + C + T * C, end = &__heap_base;
    float **weights[] = {&w, &grad, &mean, &square};
    for (int i = 0; i < 4; i++) *weights[i] = numbers(TOTAL);
    tokens = (int *)numbers(N), targets = (int *)numbers(N), likelihood = numbers(N), logits = numbers(N * V);
    cosine = numbers(T * D / 2), sine = numbers(T * D / 2), bias = numbers(H * T), heard = numbers(L * H);
    attention = numbers(L * N * H * T);
    for (int l = 0; l < L; l++) {
        struct Memory *m = memory + l;
        float **wide[] = {&m->h, &m->q, &m->k, &m->v, &m->y, &m->h2}, **thin[] = {&m->rms_q, &m->rms_k};
        for (int i = 0; i < 6; i++) *wide[i] = numbers(N * C);
        for (int i = 0; i < 2; i++) *thin[i] = numbers(N * H);
        m->att = attention + l * N * H * T, m->up = numbers(N * F), m->act = numbers(N * F);
        m->rms = numbers(N), m->rms2 = numbers(N);
        for (int h = 0; h < H; h++) heard[l * H + h] = 1;
    }
    float **streams[] = {&x, &x0, &final, &dx, &dy, &dq, &dk, &dv};
    for (int i = 0; i < 8; i++) *streams[i] = numbers(N * C);
    rms0 = numbers(N), rms_final = numbers(N), dact = numbers(N * F), scores = numbers(T * T);
    flipped = numbers(C * (F > V ? F : V) + T * D), gram = numbers(C * C), square_gram = numbers(C * C), wide = numbers(C * F);
    return TOTAL;
}

// ---------------------------------------------------------------- arithmetic

// out (m, n) = a (m, k) b (k, n), plus out if `add`. Rows of a lie ra apart and columns ca, so a may be transposed.
static void matmul(float *out, int ro, const float *a, int ra, int ca, const float *b, int rb, int m, int k,
                   int n, int add) {
    for (int j = 0; j < n; j += 8)
        for (int i = 0; i < m; i += 4) {  // a tile of 4 x 8 sums stays in registers
            v4 sum[4][2] = {0};
            for (int l = 0; l < k; l++) {
                v4 left = *(v4 *)(b + l * rb + j), right = *(v4 *)(b + l * rb + j + 4);
                for (int r = 0; r < 4; r++) {
                    float f = a[(i + r) * ra + l * ca];
                    sum[r][0] += f * left, sum[r][1] += f * right;
                }
            }
            for (int r = 0; r < 4; r++)
                for (int s = 0; s < 2; s++) {
                    v4 *place = (v4 *)(out + (i + r) * ro + j + 4 * s);
                    *place = add ? *place + sum[r][s] : sum[r][s];
                }
        }
}

// Transpose a (rows, columns), whose rows lie ra apart.
static const float *flip(const float *a, int ra, int rows, int columns) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) flipped[j * rows + i] = a[i * ra + j];
    return flipped;
}

// y (n, out) = x (n, in) W
static void linear(float *y, const float *x, const float *W, int n, int in, int out) {
    matmul(y, out, x, in, 1, W, out, n, in, out, 0);
}

// The gradients of y = x W: dW = x^T dy, and dx = dy W^T, plus dx if `add`.
static void linear_back(float *dx, float *dW, const float *dy, const float *x, const float *W, int n, int in,
                        int out, int add) {
    matmul(dW, out, x, 1, in, dy, out, in, n, out, 0);
    matmul(dx, in, dy, out, 1, flip(W, out, in, out), in, n, out, in, add);
}

// RMSNorm of each row: y = x r. Here r is the inverse of the row's root mean square.
static void norm(float *y, float *r, const float *x, int rows, int width) {
    for (int i = 0; i < rows; i++, x += width, y += width) {
        float sum = 0;
        for (int c = 0; c < width; c++) sum += x[c] * x[c];
        r[i] = 1 / __builtin_sqrtf(sum / width + 1.1920929e-7f);
        for (int c = 0; c < width; c++) y[c] = x[c] * r[i];
    }
}

// dx = r (dy - y mean(y dy)), plus dx if `add`.
static void norm_back(float *dx, const float *dy, const float *y, const float *r, int rows, int width, int add) {
    for (int i = 0; i < rows; i++, dx += width, dy += width, y += width) {
        float dot = 0;
        for (int c = 0; c < width; c++) dot += y[c] * dy[c];
        for (int c = 0; c < width; c++) dx[c] = (add ? dx[c] : 0) + r[i] * (dy[c] - y[c] * dot / width);
    }
}

// e^x for x <= 0: a power of two times a polynomial.
static float exponential(float x) {
    x = x < -80 ? -80 : x;
    int n = (int)(x * 1.44269504f - 0.5f);
    float f = x - n * 0.693359375f + n * 2.12194440e-4f;  // ln 2 in two parts
    float p = 1 + f * (1 + f * (0.5f + f * (0.16666667f + f * (0.041666667f + f * (0.0083333f + f * 0.0013889f)))));
    union { int i; float f; } power = {(n + 127) << 23};
    return p * power.f;
}

// Turn each pair of channels of q or k by the angle of its position; with sign -1, back.
static void rotate(float *x, int n, float sign) {
    for (int i = 0; i < n; i++)
        for (int c = 0; c < C; c += 2) {
            int pair = i % T * (D / 2) + c % D / 2;
            float *p = x + i * C + c, a = p[0], b = p[1], s = sign * sine[pair];
            p[0] = a * cosine[pair] - b * s, p[1] = a * s + b * cosine[pair];
        }
}

// ---------------------------------------------------------------- one head of one window: (T, D) each

static const float SCALE = 2 / 4.f;  // 2 / sqrt(D)

static void attend(float *y, float *att, const float *q, const float *k, const float *v, const float *bias) {
    matmul(att, T, q, C, 1, flip(k, C, T, D), T, T, D, T, 0);  // (T, T) scores
    for (int i = 0; i < T; i++) {
        float *row = att + i * T, top = -1e30f, sum = 0;
        for (int j = 0; j <= i; j++) row[j] = row[j] * SCALE + bias[i - j];
        for (int j = 0; j <= i; j++) top = row[j] > top ? row[j] : top;
        for (int j = 0; j <= i; j++) row[j] = exponential(row[j] - top);
        for (int j = 0; j <= i; j++) sum += row[j];
        for (int j = 0; j <= i; j++) row[j] /= sum;
        for (int j = i + 1; j < T; j++) row[j] = 0;  // a token does not look ahead
    }
    matmul(y, C, att, T, 1, v, C, T, T, D, 0);
}

static void attend_back(float *dq, float *dk, float *dv, const float *dy, const float *att, const float *q,
                        const float *k, const float *v) {
    matmul(dv, C, att, 1, T, dy, C, T, T, D, 0);
    matmul(scores, T, dy, C, 1, flip(v, C, T, D), T, T, D, T, 0);  // gradient of the weights
    for (int i = 0; i < T; i++) {
        float *ds = scores + i * T, dot = 0;
        const float *row = att + i * T;
        for (int j = 0; j < T; j++) dot += row[j] * ds[j];
        for (int j = 0; j < T; j++) ds[j] = row[j] * (ds[j] - dot) * SCALE;  // gradient of the dot products
    }
    matmul(dq, C, scores, T, 1, k, C, T, T, D, 0);
    matmul(dk, C, scores, 1, T, q, C, T, T, D, 0);
}

// ---------------------------------------------------------------- a block, forward and backward

// x = x + attention(norm(x)), then x = x + mlp(norm(x)): x is (n, C), and n is the rows of the batch.
static void block(const struct Block *w, struct Memory *m, const float *heard, int n) {
    norm(m->h, m->rms, x, n, C);
    linear(m->q, m->h, w->q, n, C, C), norm(m->q, m->rms_q, m->q, n * H, D), rotate(m->q, n, 1);
    linear(m->k, m->h, w->k, n, C, C), norm(m->k, m->rms_k, m->k, n * H, D), rotate(m->k, n, 1);
    linear(m->v, m->h, w->v, n, C, C);
    for (int b = 0; b < n / T; b++)
        for (int h = 0; h < H; h++) {
            int at = b * T * C + h * D;
            attend(m->y + at, m->att + (b * H + h) * T * T, m->q + at, m->k + at, m->v + at, bias + h * T);
            for (int i = 0; i < T * D && !heard[h]; i++) m->y[at + i / D * C + i % D] = 0;
        }
    matmul(x, C, m->y, C, 1, w->out, C, n, C, C, 1);

    norm(m->h2, m->rms2, x, n, C);
    linear(m->up, m->h2, w->up, n, C, F);
    for (int i = 0; i < n * F; i++) m->act[i] = m->up[i] > 0 ? m->up[i] * m->up[i] : 0;
    matmul(x, C, m->act, F, 1, w->down, C, n, F, C, 1);
}

// The same lines from the last to the first: dx is the gradient of x, (N, C).
static void block_back(const struct Block *w, const struct Block *dw, const struct Memory *m) {
    linear_back(dact, dw->down, dx, m->act, w->down, N, F, C, 0);
    for (int i = 0; i < N * F; i++) dact[i] *= m->up[i] > 0 ? 2 * m->up[i] : 0;
    linear_back(dy, dw->up, dact, m->h2, w->up, N, C, F, 0);
    norm_back(dx, dy, m->h2, m->rms2, N, C, 1);

    linear_back(dy, dw->out, dx, m->y, w->out, N, C, C, 0);
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++) {
            int at = b * T * C + h * D;
            attend_back(dq + at, dk + at, dv + at, dy + at, m->att + (b * H + h) * T * T, m->q + at, m->k + at,
                        m->v + at);
        }
    norm_back(dq, dq, m->q, m->rms_q, N * H, D, 0), rotate(dq, N, -1);
    norm_back(dk, dk, m->k, m->rms_k, N * H, D, 0), rotate(dk, N, -1);
    linear_back(dy, dw->q, dq, m->h, w->q, N, C, C, 0);
    linear_back(dy, dw->k, dk, m->h, w->k, N, C, C, 1);
    linear_back(dy, dw->v, dv, m->h, w->v, N, C, C, 1);
    norm_back(dx, dy, m->h, m->rms, N, C, 1);
}

// ---------------------------------------------------------------- the model

// Read `windows` rows of tokens: logits, and the probability of each target.
void forward(int windows) {
    int n = windows * T;
    float *added = added_of(w), *shift = shift_of(w);
    for (int i = 0; i < n; i++)
        for (int c = 0; c < C; c++) {
            float before = shifts && i % T ? shift[c] * w[tokens[i - 1] * C + c] : 0;
            x[i * C + c] = w[tokens[i] * C + c] + before + added[i % T * C + c];
        }
    norm(x0, rms0, x, n, C);
    for (int i = 0; i < n * C; i++) x[i] = x0[i];
    for (int l = 0; l < L; l++) {
        struct Block b = block_of(w, l);
        block(&b, memory + l, heard + l * H, n);
    }
    norm(final, rms_final, x, n, C);
    linear(logits, final, head_of(w), n, C, V);
    for (int i = 0; i < n; i++) {
        float *row = logits + i * V, top = row[0], sum = 0;
        for (int j = 0; j < vocab_size; j++) top = row[j] > top ? row[j] : top;
        for (int j = 0; j < V; j++) sum += row[j] = j < vocab_size ? exponential(row[j] - top) : 0;
        for (int j = 0; j < V; j++) row[j] /= sum;  // from here on they are probabilities
        likelihood[i] = targets[i] < 0 ? 1 : row[targets[i]];
    }
}

// Gradients of the mean loss of a whole batch that `forward` has just read.
void backward(void) {
    for (int i = 0; i < N; i++) {
        logits[i * V + targets[i]] -= 1;
        for (int j = 0; j < V; j++) logits[i * V + j] /= N;
    }
    linear_back(dy, head_of(grad), logits, final, head_of(w), N, C, V, 0);
    norm_back(dx, dy, final, rms_final, N, C, 0);
    for (int l = L - 1; l >= 0; l--) {
        struct Block b = block_of(w, l), db = block_of(grad, l);
        block_back(&b, &db, memory + l);
    }
    norm_back(dx, dx, x0, rms0, N, C, 0);
    float *added = added_of(grad), *shift = shift_of(grad);
    for (int i = 0; i < V * C; i++) grad[i] = 0;
    for (int i = 0; i < C + T * C; i++) shift[i] = 0;  // and what is added, which lies behind it
    for (int i = 0; i < N; i++)
        for (int c = 0; c < C; c++) grad[tokens[i] * C + c] += dx[i * C + c], added[i % T * C + c] += dx[i * C + c];
    for (int i = 0; i < N && shifts; i++)
        for (int c = 0; c < C && i % T; c++) {
            int before = tokens[i - 1] * C + c;
            shift[c] += dx[i * C + c] * w[before], grad[before] += dx[i * C + c] * shift_of(w)[c];
        }
}

// ---------------------------------------------------------------- the optimizers

// Adam (Kingma and Ba 2015). `left` is what both running means still owe to their start at zero.
static void adam(float *w, const float *g, float *mean, float *square, int n, float lr, const float *left) {
    for (int i = 0; i < n; i++) {
        mean[i] += 0.1f * (g[i] - mean[i]);
        square[i] += 0.05f * (g[i] * g[i] - square[i]);
        w[i] -= lr * mean[i] / left[0] / (__builtin_sqrtf(square[i] / left[1]) + 1e-8f);
    }
}

// Muon (Jordan et al. 2024): momentum, then five rounds that bring all singular values of the step near 1.
static void muon(float *w, float *g, float *mean, int in, int out, float lr) {
    int n = in * out, columns = n / C;  // the narrow side is C
    float sum = 0, reach = out > in ? __builtin_sqrtf((float)out / in) : 1;
    for (int i = 0; i < n; i++) {
        mean[i] += 0.05f * (g[i] - mean[i]);
        g[i] += 0.95f * (mean[i] - g[i]);  // a look ahead: Nesterov's momentum
        sum += g[i] * g[i];
    }
    float size = __builtin_sqrtf(sum);
    const float *start = in > out ? flip(g, out, in, out) : g;
    for (int i = 0; i < n; i++) wide[i] = start[i] / (size > 1e-7f ? size : 1e-7f);
    for (int round = 0; round < 5; round++) {
        matmul(gram, C, wide, columns, 1, flip(wide, columns, C, columns), C, C, columns, C, 0);
        matmul(square_gram, C, gram, C, 1, gram, C, C, C, C, 0);
        for (int i = 0; i < C * C; i++) square_gram[i] = -4.7750f * gram[i] + 2.0315f * square_gram[i];
        for (int i = 0; i < C; i++) square_gram[i * C + i] += 3.4445f;
        matmul(flipped, columns, square_gram, C, 1, wide, columns, C, C, columns, 0);
        for (int i = 0; i < n; i++) wide[i] = flipped[i];
    }
    const float *end = in > out ? flip(wide, columns, C, columns) : wide;
    for (int i = 0; i < n; i++) w[i] -= lr * reach * end[i];
}

void update(float lr_matrix, float lr_other, float left_mean, float left_square) {
    float left[2] = {left_mean, left_square};
    for (int l = 0; l < L; l++)
        for (int i = 0; i < 6; i++) {  // q, k, v, out, up, down
            int at = V * C + l * MATRICES + (i < 5 ? i : 8) * C * C;
            muon(w + at, grad + at, mean + at, i == 5 ? F : C, i == 4 ? F : C, lr_matrix);
        }
    int rest = added_of(w) - head_of(w), head = head_of(w) - w;
    adam(w, grad, mean, square, V * C, lr_other, left);
    adam(w + head, grad + head, mean + head, square + head, learned ? rest + T * C : rest, lr_other, left);
}
