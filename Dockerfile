# docker build -t shoal .                                   CPU
# docker build -t shoal --build-arg SETUP=--cuda .          with the CUDA plug-in and its libraries
#   and --build-arg EFA=1.47.0 --build-arg EFA_SHA256=…     also with EFA
# docker build -t shoal --build-arg TOOLKIT=5.1.4 .         with sagemaker-training, OpenMPI, sshd
#
# docker run shoal train --data /data …        docker run --user shoal shoal shoal doctor
#
# SageMaker starts a container with the command `train`. On PATH, it is a link to shoal or, with
# TOOLKIT, to scripts/sagemaker/image/train.py, which starts the toolkit. There is no ENTRYPOINT, so
# shoal is the first process and receives the signals. The image has no /opt/ml. Any user may run
# the container. The default is root, because /opt/ml belongs to root on SageMaker.
# scripts/image_check builds the image, trains in it and checks its content.
#
# Everything that is downloaded is checked: the base image and EFA's installer against a digest
# given here or by the caller, LibTorch against scripts/setup/wheels.lock, Python packages against
# scripts/sagemaker/image, Debian's packages by apt.
# To print a new digest of the base image: docker buildx imagetools inspect debian:12-slim
ARG BASE=debian:12-slim@sha256:abd67ffcfa541b485a3dff59865ab629aa048a6c613e639d36e7456b0b229241

FROM $BASE AS toolkit
ARG TOOLKIT=
WORKDIR /image
COPY scripts/sagemaker/image .
# gevent's tests contain private keys.
RUN mkdir -p /opt/toolkit && if [ -n "$TOOLKIT" ]; then \
    [ -e "toolkit-$TOOLKIT.txt" ] || { \
      echo "TOOLKIT=$TOOLKIT is not pinned; run scripts/sagemaker/image/pin.py $TOOLKIT" >&2; exit 1; }; \
    apt-get update && apt-get install -y --no-install-recommends python3-venv python3-dev gcc libc6-dev \
    && python3 -m venv /opt/toolkit && pip="/opt/toolkit/bin/pip install --no-cache-dir --require-hashes" \
    && $pip -r build-tools.txt && $pip --no-build-isolation -r "toolkit-$TOOLKIT.txt" \
    && rm -r /opt/toolkit/lib/python3*/site-packages/gevent/tests \
    && install -m 755 train.py /opt/toolkit/bin/train_with_keys; fi

FROM $BASE AS runtime
ARG EFA=
ARG EFA_SHA256=
ARG EFA_URL=https://efa-installer.amazonaws.com
ARG TOOLKIT=
# Installing sshd makes host keys. They must not be in the image: whoever has the image could pose
# as its containers.
RUN [ -z "$EFA" ] || : "${EFA_SHA256:?is missing: the SHA-256 that AWS publishes for EFA installer $EFA}"; \
  apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates curl libcpp-httplib0.11 libcurl4 libisal2 libjpeg62-turbo \
    libopencv-imgcodecs406 libopencv-imgproc406 libspdlog1.10 libssl3 zlib1g \
    ${TOOLKIT:+openmpi-bin openssh-client openssh-server python3} \
  && rm -f /etc/ssh/ssh_host_*_key* \
  && if [ -n "$EFA" ]; then \
    cd /tmp && curl -fsSLo efa.tar.gz "$EFA_URL/aws-efa-installer-$EFA.tar.gz" \
    && echo "$EFA_SHA256  efa.tar.gz" | sha256sum -c - && tar xzf efa.tar.gz && cd aws-efa-installer \
    && ./efa_installer.sh -y --skip-kmod --skip-limit-conf --no-verify \
    && rm -r /tmp/aws-efa-installer /tmp/efa.tar.gz; fi \
  && rm -rf /var/lib/apt/lists/*
# The toolkit's MPI launch connects to the other hosts as root, with the keys that train_with_keys
# makes.
RUN groupadd --gid 1000 shoal && useradd --uid 1000 --gid 1000 --create-home shoal && if [ -n "$TOOLKIT" ]; then \
    mkdir -p /var/run/sshd && mkdir -m 700 /root/.ssh \
    && printf 'Host *\n  StrictHostKeyChecking yes\n  LogLevel ERROR\n' >/root/.ssh/config \
    && printf 'HostKey /etc/ssh/ssh_host_ed25519_key\nPasswordAuthentication no\n' >/etc/ssh/sshd_config.d/shoal.conf \
    && sed -i 's/^\(session *\)required\( *pam_loginuid.so\)/\1optional\2/' /etc/pam.d/sshd \
    && ln -s /opt/toolkit/bin/train_with_keys /usr/local/bin/train; fi

FROM $BASE AS build
ENV LANG=C.UTF-8
ARG SETUP=
# A folder with LibTorch, if one is mounted. Empty: LibTorch is downloaded.
ARG SHOAL_CACHE=
# The commit that `shoal --version` prints.
ARG COMMIT=
WORKDIR /src
COPY . .
RUN SHOAL_COMMIT="$COMMIT" SHOAL_TESTS=OFF scripts/build $SETUP -- --target shoal shoal-worker ${SETUP:+shoal_cuda} \
  && cmake --install build/release --prefix /opt/shoal --strip \
  && ln -s shoal /opt/shoal/bin/train

FROM runtime
COPY --from=toolkit /opt/toolkit /opt/toolkit
COPY --from=build /opt/shoal /opt/shoal
# Settings for NVIDIA's container runtime. No effect without a GPU.
ENV LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/shoal/bin \
  NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
CMD ["shoal", "--help"]
