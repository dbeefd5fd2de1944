#!/usr/bin/env bash
# Builds the container image, pushes it to ECR and prints its address, the value of launch.py's
# setting `image`.
#
#   scripts/sagemaker/build_and_push.sh [--dry-run] [--repository NAME] [--tag TAG]
#       [--region REGION] [--account ID] [-- ARGUMENTS OF docker build]
#
#   --dry-run      print the commands for building and pushing without running them
#   --repository   repository in ECR, created if it does not exist [default: shoal]
#   --tag          tag of the image [default: the commit, as git describe prints it]
#   --region, --account   AWS region and account [default: those of the AWS command line]
#
# Example: build_and_push.sh -- --build-arg SETUP=--cuda
# Environment: DOCKER is the program that builds and pushes: docker (default), podman or buildah.
#
# Exit status: 0; 1 a command failed; 2 usage; 3 docker or the AWS command line is missing.
set -euo pipefail
. "$(dirname "$0")/../setup/common.sh"

dry=no repository=shoal tag='' region='' account='' docker=${DOCKER:-docker}
usage() { sed -n '5,16s/^# \{0,1\}//p' "$0"; }
while [ $# -gt 0 ]; do
  case $1 in
    --dry-run) dry=yes ;;
    --repository | --tag | --region | --account)
      [ $# -gt 1 ] && [ -n "$2" ] || die 2 "$1 needs a value"
      declare "${1#--}=$2"
      shift
      ;;
    -h | --help) usage; exit 0 ;;
    --) shift; break ;;
    *) usage >&2; die 2 "unknown option $1" ;;
  esac
  shift
done

run() {
  if [ $dry = yes ]; then printf '%q ' "$@" && echo; else "$@"; fi
}
need() {
  [ $dry = yes ] || command -v "$1" >/dev/null || die 3 "$1 is missing; $2"
}
need aws "install the AWS command line (python3 -m pip install awscli)"
need "$docker" "install docker, or set DOCKER=podman or DOCKER=buildah"

if [ -z "$region" ]; then
  region=${AWS_REGION:-${AWS_DEFAULT_REGION:-$(aws configure get region 2>/dev/null || true)}}
  [ -n "$region" ] || die 2 "the region is unknown; set --region REGION"
fi
if [ -z "$account" ]; then
  account=$(aws sts get-caller-identity --query Account --output text) ||
    die 1 "the account is unknown; log in, or set --account ID"
fi
[[ $account =~ ^[0-9]{12}$ ]] || die 2 "--account is '$account'; it must be twelve digits"
[ -n "$tag" ] || tag=$(git -C "$top" describe --always --dirty)

case $region in cn-*) domain=amazonaws.com.cn ;; *) domain=amazonaws.com ;; esac
registry=$account.dkr.ecr.$region.$domain
image=$registry/$repository:$tag

# Log in after the build, because a build may take long and a login expires after twelve hours.
commit=$(git -C "$top" describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null || true)
run "$docker" build -t "$image" --build-arg COMMIT="$commit" "$@" "$top" || die 1 "building $image failed: see above"
if [ $dry = yes ]; then
  run aws ecr create-repository --region "$region" --repository-name "$repository"
  printf '%s| ' "$(run aws ecr get-login-password --region "$region")"
  run "$docker" login --username AWS --password-stdin "$registry"
else
  aws ecr describe-repositories --region "$region" --repository-names "$repository" >/dev/null 2>&1 ||
    aws ecr create-repository --region "$region" --repository-name "$repository" >/dev/null ||
    die 1 "cannot create the repository $repository: see above"
  aws ecr get-login-password --region "$region" |
    "$docker" login --username AWS --password-stdin "$registry" >&2 || die 1 "logging in to $registry failed"
fi
run "$docker" push "$image" || die 1 "pushing $image failed: see above"
echo "$image"
