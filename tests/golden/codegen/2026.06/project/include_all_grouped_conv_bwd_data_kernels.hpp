// {"ck": "2026.06", "arch": "gfx950", "kernels": 5}
// ckrules 0.0.0, rule book test
// Every bwd_data kernel of this folder.
#pragma once
