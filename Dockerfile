# docker build -t shoal .                                            CPU
# docker build -t shoal --build-arg SETUP=--cuda .                   with the CUDA plug-in and its libraries
# docker build -t shoal --build-arg SETUP=--cuda --build-arg EFA=1.47.0 .        and EFA: libfabric, aws-ofi-nccl
# docker build -t shoal --build-arg TOOLKIT=5.1.4 .                  with sagemaker-training, OpenMPI and sshd
#
# docker run shoal train --data /data …        docker run shoal shoal doctor
# SageMaker starts a container with the command `train`. On PATH it is a link to shoal or, with TOOLKIT, the toolkit's
# program. There is no ENTRYPOINT, so shoal is the first process and receives the signals. The image has no /opt/ml.
# Any user may run the container. scripts/image_check builds the image and trains in it.
ARG BASE=debian:12-slim

FROM $BASE AS build
ENV LANG=C.UTF-8
ARG SETUP=
# A folder with LibTorch, if one is mounted. Empty: LibTorch is downloaded.
ARG SHOAL_CACHE=
ARG TOOLKIT=
WORKDIR /src
COPY . .
RUN scripts/build $SETUP -- --target shoal shoal-worker ${SETUP:+shoal_cuda} \
  && cmake --install build/release --prefix /opt/shoal --strip \
  && ln -s shoal /opt/shoal/bin/train
RUN mkdir -p /opt/toolkit && if [ -n "$TOOLKIT" ]; then \
    apt-get update && apt-get install -y --no-install-recommends python3-venv python3-dev gcc \
    && python3 -m venv /opt/toolkit && /opt/toolkit/bin/pip install --no-cache-dir "sagemaker-training==$TOOLKIT"; fi

FROM $BASE
ARG EFA=
ARG EFA_URL=https://efa-installer.amazonaws.com
ARG TOOLKIT=
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates libjpeg62-turbo libopencv-imgcodecs406 \
    libopencv-imgproc406 libspdlog1.10 zlib1g ${EFA:+curl} ${TOOLKIT:+openmpi-bin openssh-client openssh-server python3} \
  && if [ -n "$EFA" ]; then \
    curl -fsSL "$EFA_URL/aws-efa-installer-$EFA.tar.gz" | tar xz -C /tmp && cd /tmp/aws-efa-installer \
    && ./efa_installer.sh -y --skip-kmod --skip-limit-conf --no-verify && rm -rf /tmp/aws-efa-installer; fi \
  && rm -rf /var/lib/apt/lists/*
# The toolkit's MPI launch connects to the other hosts as root, without a password or a host key
# prompt.
RUN if [ -n "$TOOLKIT" ]; then \
    mkdir -p /var/run/sshd /root/.ssh && ssh-keygen -q -t rsa -N '' -f /root/.ssh/id_rsa \
    && cp /root/.ssh/id_rsa.pub /root/.ssh/authorized_keys && chmod 600 /root/.ssh/authorized_keys \
    && printf 'Host *\n  StrictHostKeyChecking no\n  LogLevel ERROR\n' >/root/.ssh/config \
    && sed -i 's/^\(session *\)required\( *pam_loginuid.so\)/\1optional\2/' /etc/pam.d/sshd \
    && ln -s /opt/toolkit/bin/train /usr/local/bin/train; fi
COPY --from=build /opt/toolkit /opt/toolkit
COPY --from=build /opt/shoal /opt/shoal
# Settings for NVIDIA's container runtime. No effect without a GPU.
ENV LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/shoal/bin \
  NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
CMD ["shoal", "--help"]
